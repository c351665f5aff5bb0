from stowplan.config.types import PLUGINS_ATTRIBUTES
from stowplan.framework.points import MULTI_POINT, POINTS, interface


def test_points_are_the_fields_of_plugins() -> None:
    assert {*POINTS, MULTI_POINT} == set(PLUGINS_ATTRIBUTES)
    assert len(POINTS) == len(set(POINTS)) == 14


def test_interface_is_the_go_type() -> None:
    assert interface("preFilter") == "PreFilterPlugin"
    assert interface("queueSort") == "QueueSortPlugin"
