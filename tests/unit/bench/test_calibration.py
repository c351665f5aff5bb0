from stowplan.bench.calibration import calibrate


def test_the_time_grows_with_the_work() -> None:
    calibrate(1_000)
    assert 0 < calibrate(1_000) < calibrate(300_000)
