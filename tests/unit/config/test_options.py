from stowplan.config import default_configuration
from stowplan.config.options import Options, with_fields


def test_fields_are_replaced_by_path() -> None:
    options = Options(config=default_configuration())
    changed = with_fields(
        options,
        {"serving.port": 1, "serving.address": "::1", "config.leader_election.leader_elect": False, "master": "m"},
    )
    assert (changed.serving.port, changed.serving.address, changed.master) == (1, "::1", "m")
    assert not changed.config.leader_election.leader_elect
    assert options == Options(config=default_configuration())
