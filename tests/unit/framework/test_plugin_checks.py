"""Mistakes of authors are errors when a plugin is loaded: one line with class, file, line and what to do."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stowplan.errors import PluginBugError
from stowplan.framework import Plugin
from stowplan.framework.plugin_checks import DECLARATIONS, HOOKS, check_constructor, check_plugin, check_plugin_class
from stowplan.plugins.registry import REGISTRY

FILTER = "def filter(self, state, pod, node): pass"
SCORE = "def score(self, state, pod, node): return 1"


def plugin_class(tmp_path: Path, body: str) -> type[Plugin]:
    """The class P of a file whose first line of the class's body is line 4."""
    file = tmp_path / "mine.py"
    file.write_text("from stowplan import Plugin\n\nclass P(Plugin):\n" + textwrap.indent(body, "    "))
    space: dict[str, Any] = {"__name__": "mine"}
    exec(compile(file.read_text(), str(file), "exec"), space)
    made: type[Plugin] = space["P"]
    return made


FAULTS: list[tuple[str, str]] = [
    ("def fitler(self, state, pod, node): pass", '"fitler" (did you mean filter?)'),
    ("def preFilter(self, state, pod, nodes): pass", '"preFilter" (did you mean pre_filter?)'),
    ("def PreFilter(self, state, pod, nodes): pass", '"PreFilter" (did you mean pre_filter?)'),
    ("def prefilter(self): pass", '"prefilter" (did you mean pre_filter?)'),
    (f"{FILTER}\ndef EventsToRegister(self): return ()", '"EventsToRegister" (did you mean events_to_register?)'),
    (f"{SCORE}\ndef ScoreExtensions(self): return self", '"ScoreExtensions" (did you mean normalize_score?)'),
    (f"{SCORE}\ndef normalise_score(self, state, pod, scores): pass", "(did you mean normalize_score?)"),
    (f"{FILTER}\ndef scoer(self, state, pod, node): return 1", "(did you mean score?)"),
    ("name = 'p'", "it implements no extension point; override at least one method"),
    ("def sort_key(self, item): return ()", "it implements no extension point"),
    ("def events_to_register(self): return ()", "it implements no extension point"),
    (f"scope = 'nodes'\n{FILTER}", """scope is 'nodes' (did you mean "node"?); expected "node", "node+pods" or"""),
    (f"scope = None\n{FILTER}", "scope is None; expected"),
    (f"normalize = 'minmax'\n{SCORE}", """normalize is 'minmax' (did you mean "min-max"?)"""),
    (f"score_range = (5, 1)\n{SCORE}", "score_range is (5, 1); expected a pair of numbers, the lower one first"),
    (f"score_range = 100\n{SCORE}", "score_range is 100"),
    (f"needs_objects = 'yes'\n{FILTER}", "needs_objects is 'yes'; expected True or False"),
    (f"reads = 'Lease'\n{FILTER}", "reads is 'Lease'"),
    (f"reads = ('Leases',)\n{FILTER}", """reads is ('Leases',) (did you mean "Lease"?)"""),
    (f"reads_annotations = 'example.com/a'\n{FILTER}", "expected a tuple of annotation keys, or True"),
    (f"Args = dict\n{FILTER}", "Args is <class 'dict'>; expected a msgspec.Struct or a dataclass"),
    (f"needs_object = True\n{FILTER}", '"needs_object = True" (did you mean needs_objects?)'),
    (f"normalise = 'min-max'\n{SCORE}", "(did you mean normalize?)"),
    (f"scop = 'node'\n{FILTER}", "(did you mean scope?)"),
    (f"read_annotations = ('a',)\n{FILTER}", "(did you mean reads_annotations?)"),
    ("async def filter(self, state, pod, node): pass", "filter is async and would never run: use def; only"),
    ("async def pre_enqueue(self, pod): pass", "pre_enqueue is async"),
    ("def score(self, state, pod, node): yield 1", "score yields and would never run"),
    ("def filter(self, pod, node): pass", "filter must take (self, state, pod, node)"),
    ("def less(self, a): pass", "less must take (self, a, b)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "problem"), FAULTS)
def test_a_fault_is_one_line_with_its_place(body: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(PluginBugError) as caught:
        check_plugin_class(plugin_class(tmp_path, body))
    text = str(caught.value)
    assert problem in text
    assert "\n" not in text
    assert "class P: " in text


def test_the_place_is_that_of_the_method(tmp_path: Path) -> None:
    with pytest.raises(PluginBugError) as caught:
        check_plugin_class(plugin_class(tmp_path, f"x = 1\n\n{FILTER}\n\ndef Score(self): pass"))
    assert str(caught.value).startswith(f"{tmp_path.name}/mine.py:8: class P: ")


class Misplaced(Plugin):
    scope = "nodes"  # type: ignore[assignment]


def test_the_place_of_an_attribute_is_that_of_the_class() -> None:
    with pytest.raises(PluginBugError) as caught:
        check_plugin_class(Misplaced)
    assert re.match(r"tests/unit/framework/test_plugin_checks\.py:\d+: class Misplaced: scope", str(caught.value))


FINE = [
    f"{FILTER}\ndef filters(self): pass\ndef filter_node(self, node): pass\ndef _filter(self, state, pod, node): pass",
    f"{FILTER}\ndef filtered(self, state, pod, node): pass",
    f"{SCORE}\ndef scores(self, nodes): pass\nnames = ('a',)\nweights = {{}}\nscopes = ('node', 'pod')",
    f"{FILTER}\ndef find(self, state, pod, name): pass\ndef setup(self): pass\ndef preference(self, pod): pass",
    "def pre_filter(self, state, pod, nodes):\n    yield 'n1'",
    "async def permit(self, state, pod, node_name): pass\nasync def bind(self, *args): pass",
    "def filter(self, *args): pass",
    "def filter(self, state, pod, node, extra=None): pass",
    f"score_range = [0, 0.5]\nreads = ['Lease']\nreads_annotations = True\nnormalize = None\n{SCORE}",
    f"def __init__(self, args, handle, more=1): super().__init__(args, handle)\n{FILTER}",
    "filter = staticmethod(lambda state, pod, node: None)",
    "def select_victims(self, state, pod, victims): return victims",
]


@pytest.mark.parametrize("body", FINE)
def test_what_authors_may_write_is_accepted(body: str, tmp_path: Path) -> None:
    check_plugin_class(plugin_class(tmp_path, body))


def test_in_tree_plugins_pass() -> None:
    for kind in REGISTRY.values():
        check_plugin_class(kind)


def test_every_hook_under_a_go_name_is_noticed(tmp_path: Path) -> None:
    for hook in HOOKS:
        first, *rest = hook.split("_")
        for spelling in (first + "".join(word.title() for word in rest), hook.title().replace("_", "")):
            if spelling != hook:
                with pytest.raises(PluginBugError, match=rf'"{spelling}" \(did you mean {hook}\?\)'):
                    check_plugin_class(plugin_class(tmp_path, f"def {spelling}(self): pass"))


def test_every_declaration_is_checked() -> None:
    for name in DECLARATIONS:
        with pytest.raises(PluginBugError, match=rf"{name} is "):
            check_plugin_class(type("P", (Plugin,), {"filter": lambda self, *args: None, name: object()}))


def test_a_forgotten_super_is_named(tmp_path: Path) -> None:
    kind = plugin_class(tmp_path, f"def __init__(self, args, handle): self.x = 1\n{FILTER}")
    check_plugin_class(kind)
    with pytest.raises(PluginBugError) as caught:
        check_plugin(kind({}, None))  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"{tmp_path.name}/mine.py:4: class P: __init__ does not initialise Plugin: "
        "call super().__init__(args, handle) in it"
    )


def test_a_class_is_made_with_args_and_handle(tmp_path: Path) -> None:
    kind = plugin_class(tmp_path, f"def __init__(self): pass\n{FILTER}")
    check_plugin_class(kind)  # A factory function may make it.
    with pytest.raises(PluginBugError, match=r"mine.py:4: class P: __init__ must take \(self, args, handle\)"):
        check_constructor(kind)


def test_declarations_of_the_instance_are_checked() -> None:
    class Late(Plugin):
        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            self.scope = "rack"  # type: ignore[misc, assignment]

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            return None

    check_plugin_class(Late)
    with pytest.raises(PluginBugError, match=r"class .*Late: scope is 'rack'"):
        check_plugin(Late({}, None))


@pytest.mark.parametrize("args", [dataclasses.make_dataclass("Args", ["x"]), msgspec.defstruct("Args", ["x"])])
def test_args_may_be_a_struct_or_a_dataclass(args: type) -> None:
    check_plugin_class(type("P", (Plugin,), {"filter": lambda self, *given: None, "Args": args}))
