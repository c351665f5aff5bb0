import pytest

from stowplan.config import POINTS
from stowplan.framework import Plugin
from stowplan.runtime.points.implemented import METHODS, implements_point


def test_points_are_the_configurations() -> None:
    assert set(METHODS) <= set(POINTS)


@pytest.mark.parametrize(("point", "methods"), METHODS.items())
def test_any_method_of_a_point_implements_it(point: str, methods: tuple[str, ...]) -> None:
    assert not implements_point(Plugin, point)
    for method in methods:
        assert hasattr(Plugin, method)
        assert implements_point(type("P", (Plugin,), {method: lambda self: None}), point)


def test_points_that_nobody_implements() -> None:
    assert not implements_point(Plugin, "placementGenerate")
