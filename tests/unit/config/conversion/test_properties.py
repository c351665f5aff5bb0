"""Any document of any version: it converts to what its own time made of it, or is refused in so many words."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from tests.conversion import samples

from stowplan.config import expand, from_builtins, read, yaml_text
from stowplan.config.conversion import API_VERSIONS, convert
from stowplan.config.conversion.plugin_tables import LATER_DEFAULT_PLUGINS, POINTS_OF, name_today
from stowplan.config.types import GROUP, KIND
from stowplan.errors import StowplanError
from stowplan.framework.points import implements_point
from stowplan.plugins.registry import REGISTRY

VERSIONS = ("v1alpha2", "v1beta1", "v1beta2")
COMPARED = ("filter", "score", "postFilter", "reserve", "preBind")
"""Points at which what runs is what was listed. Preparing points follow from these."""
OWN = ("mine", "yours")


def implements(name: str, point: str) -> bool:
    return implements_point(REGISTRY[name], point) if name in REGISTRY else point in COMPARED


def choices(version: str, point: str) -> tuple[str, ...]:
    defaults = API_VERSIONS[f"{GROUP}/{version}"].defaults
    assert defaults is not None
    return tuple(entry.name for entry in defaults[point])


@st.composite
def profiles(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    version = draw(st.sampled_from(VERSIONS))
    plugins = {}
    for point in draw(st.lists(st.sampled_from(COMPARED), unique=True)):
        names = choices(version, point)
        disabled = draw(st.lists(st.sampled_from((*names, "*")), unique=True, max_size=4))
        enabled = draw(st.lists(st.sampled_from((*names, *OWN)), unique=True, max_size=4))
        weights = draw(st.lists(st.integers(1, 9), min_size=len(enabled), max_size=len(enabled)))
        plugins[point] = {
            "disabled": [{"name": name} for name in disabled],
            "enabled": [{"name": name, "weight": w} for name, w in zip(enabled, weights, strict=True)],
        }
    return version, plugins


def as_it_was(version: str, point: str, plugins: dict[str, Any]) -> dict[str, set[int]]:
    """The plugins of today that should run at the point, each with the weights that it may have."""
    defaults = API_VERSIONS[f"{GROUP}/{version}"].defaults
    assert defaults is not None
    given = plugins.get(point, {"disabled": [], "enabled": []})
    disabled = {item["name"] for item in given["disabled"]}
    left = {} if "*" in disabled else {e.name: e.weight for e in defaults[point] if e.name not in disabled}
    left |= {item["name"]: item["weight"] for item in given["enabled"]}
    today: dict[str, set[int]] = {}
    for name, weight in left.items():
        if name_today(name, point):
            today.setdefault(name_today(name, point), set()).add(weight)
    return today


@given(profiles())
@settings(max_examples=150, deadline=None)
def test_what_ran_then_runs_now(drawn: tuple[str, dict[str, Any]]) -> None:
    version, plugins = drawn
    value = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "profiles": [{"plugins": plugins}]}
    points = expand(from_builtins(value).profiles[0], implements)
    for point in COMPARED:
        expected = as_it_was(version, point, plugins)
        # New at this point since then, and of no consequence there: a gate that is off keeps it from scoring.
        found = {p.name: p.weight for p in points[point] if p.name not in LATER_DEFAULT_PLUGINS | {"VolumeBinding"}}
        expected.pop("VolumeBinding", None)
        assert set(found) == set(expected), point
        if point == "score":
            assert all(found[name] in weights for name, weights in expected.items())
    prepared = {plugin.name for plugin in points["preScore"]}
    scoring = {plugin.name for plugin in points["score"] if "preScore" in POINTS_OF.get(plugin.name, ())}
    assert scoring <= prepared


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.text(max_size=4) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("name", "args", "labels")), inner),
    max_leaves=6,
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths_of(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    inner = replaced(value[path[0]], path[1:], junk)
    if isinstance(value, dict):
        return {**value, path[0]: inner}
    return [inner if index == path[0] else item for index, item in enumerate(value)]


@pytest.mark.parametrize("name", samples.NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_anything_in_any_place_is_read_or_refused(name: str, data: st.DataObject) -> None:
    value = yaml_text.parse(samples.text_of(name))
    broken = replaced(value, data.draw(st.sampled_from(paths_of(value)[1:])), data.draw(JUNK))
    try:
        loaded = read(yaml_text.dump(broken), "c", policies=lambda _: samples.text_of("policy-extender-only"))
    except StowplanError:
        return
    assert from_builtins(loaded.converted.value) == loaded.config
    assert convert(loaded.converted.value, "again").value == loaded.converted.value
