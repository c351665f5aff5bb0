import pytest

from stowplan.observe.health import HealthCheck, HealthPage, HealthReply

GOOD, BAD = HealthCheck("good", lambda: None), HealthCheck("bad", lambda: "out of order")


def test_without_checks_it_answers_a_ping() -> None:
    page = HealthPage("livez")
    assert page.report() == HealthReply(200, "ok")
    assert page.report(verbose=True) == HealthReply(200, "[+]ping ok\nlivez check passed\n")


def test_a_failure_is_told_without_its_reason() -> None:
    assert HealthPage("readyz", [GOOD, BAD]).report() == HealthReply(
        500, "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n"
    )


def test_an_empty_reason_is_a_failure_too() -> None:
    assert HealthPage("readyz", [HealthCheck("bad", lambda: "")]).report().status == 500


def test_checks_can_be_left_out() -> None:
    page = HealthPage("readyz", [GOOD, BAD])
    assert page.report(verbose=True, exclude=["bad", "z", "a"]) == HealthReply(
        200,
        "[+]good ok\n[+]bad excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "a","z"\nreadyz check passed\n',
    )


def test_what_is_left_out_is_not_checked() -> None:
    made: list[str] = []
    page = HealthPage("healthz", [HealthCheck("x", lambda: made.append("x"))])
    page.report(exclude=["x"])
    assert not made


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("good", HealthReply(200, "ok")),
        ("bad", HealthReply(500, "internal server error: out of order\n")),
        ("other", None),
    ],
)
def test_a_single_check_tells_its_reason(name: str, reply: HealthReply | None) -> None:
    assert HealthPage("readyz", [GOOD, BAD]).one(name) == reply
