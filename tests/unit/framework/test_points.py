import pytest

from stowplan.config.types import PLUGINS_ATTRIBUTES
from stowplan.framework import Plugin
from stowplan.framework.points import (
    ERROR_TEXTS,
    MULTI_POINT,
    POINT_BY_NAME,
    POINTS,
    POINTS_IN_VALIDATION_ORDER,
    RUN_POINTS,
    STEPS,
    Point,
    extender_verbs,
    implements_point,
)


def overriding(*methods: str) -> type:
    return type("P", (Plugin,), {method: lambda self: None for method in methods})


def test_points_are_the_fields_of_plugins() -> None:
    assert {*POINT_BY_NAME, MULTI_POINT} == set(PLUGINS_ATTRIBUTES)
    assert len(POINTS) == len(POINT_BY_NAME) == 14


def test_order_of_validation() -> None:
    assert " ".join(point.name for point in POINTS_IN_VALIDATION_ORDER) == (
        "preFilter filter postFilter reserve preScore score preBind bind postBind permit preEnqueue queueSort "
        "placementGenerate placementScore"
    )


def test_interface_is_the_go_type() -> None:
    assert POINT_BY_NAME["preFilter"].interface == "PreFilterPlugin"
    assert POINT_BY_NAME["queueSort"].interface == "QueueSortPlugin"


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_rows_fit_together(point: Point) -> None:
    assert point.go_name == point.name[0].upper() + point.name[1:]
    assert (point.verb is None) is (point.role == "")
    for step in point.steps:
        assert all(callable(getattr(Plugin, method)) for method in step.methods)
        assert not step.forwarding or step.methods
        assert not step.error or ("{plugin}" in step.error and "{message}" in step.error)


def test_names_of_steps_are_unique() -> None:
    assert len(ERROR_TEXTS) == len(STEPS)


@pytest.mark.parametrize("point", RUN_POINTS, ids=lambda point: point.name)
def test_any_of_the_methods_implements_a_point(point: Point) -> None:
    assert not implements_point(Plugin, point)
    for method in point.methods:
        assert implements_point(overriding(method), point)
        assert implements_point(overriding(method), point.name)


def test_points_that_do_not_run() -> None:
    assert [point.name for point in POINTS if point not in RUN_POINTS] == ["placementGenerate", "placementScore"]
    assert not implements_point(Plugin, "placementGenerate")


@pytest.mark.parametrize(
    ("methods", "verbs"),
    [
        ((), set()),
        (("pre_filter",), {"filter"}),
        (("filter_nodes", "score"), {"filter", "prioritize"}),
        (("pre_score", "reserve", "pre_bind", "post_bind", "permit"), set()),
        (("bind", "select_victims"), {"bind", "preempt"}),
    ],
)
def test_extender_verbs(methods: tuple[str, ...], verbs: set[str]) -> None:
    assert extender_verbs(overriding(*methods)) == verbs
