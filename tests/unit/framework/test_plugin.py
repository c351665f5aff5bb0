from types import SimpleNamespace
from typing import Any

import pytest

from stowplan.framework import ALL_EVENTS, CycleState, Plugin, PostFilterResult, Status, implements
from stowplan.framework.plugin import need_objects

POINTS = ("pre_filter", "filter", "filter_nodes", "score", "reserve", "bind", "less")


class Base(Plugin):
    name = "base"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None


class Derived(Base):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 1


class Mixin:
    def reserve(self, state: Any, pod: Any, node_name: str) -> None:
        return None


class Mixed(Mixin, Base):
    pass


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Plugin, set()), (Base, {"filter"}), (Derived, {"filter", "score"}), (Mixed, {"filter", "reserve"})],
)
def test_a_class_implements_what_it_overrides(kind: type[Plugin], expected: set[str]) -> None:
    assert {point for point in POINTS if implements(kind, point)} == expected


def plugin(kind: type[Plugin] = Plugin) -> Plugin:
    return kind({"k": 1}, SimpleNamespace())  # type: ignore[arg-type]


def test_a_plugin_without_methods_has_nothing_to_say() -> None:
    silent: Any = plugin()
    assert silent.args == {"k": 1}
    assert silent.scope == "cluster"
    assert silent.filter(None, None, None) is None
    assert silent.pre_filter(None, None, None) is None
    assert silent.post_filter(None, None, {}) is None
    assert silent.score(None, None, None) == 0
    assert list(silent.filter_nodes(None, None, None)) == []
    assert silent.concerns(None)
    assert silent.filter_token(None) is silent.sort_key(None) is None
    assert silent.events_to_register() is ALL_EVENTS
    assert silent.less(None, None) is False


def test_vector_scores_have_to_be_written() -> None:
    silent: Any = plugin()
    for method, arguments in (("score_nodes", 3), ("normalize_nodes", 4)):
        with pytest.raises(NotImplementedError):
            getattr(silent, method)(*[None] * arguments)


def test_victims_are_left_as_they_are() -> None:
    victims: Any = {"n": ()}
    assert plugin().select_victims(CycleState(), None, victims) is victims  # type: ignore[arg-type]


def test_post_filter_result() -> None:
    assert PostFilterResult("n").nominated_node_name == "n"


class ReadsObjects(Plugin):
    needs_objects = True


def by_function(args: Any, handle: Any) -> Plugin:
    return ReadsObjects(args, handle)


def test_whole_objects_are_kept_for_plugins_that_read_them() -> None:
    assert not need_objects([])
    assert not need_objects([Base, by_function])
    assert need_objects([Base, ReadsObjects])
    by_function.needs_objects = True  # type: ignore[attr-defined]
    assert need_objects([by_function])
