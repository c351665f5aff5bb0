"""Everything that framework.Plugin offers has an effect when an out-of-tree plugin overrides it.

Each member of Plugin has one proof: a plugin that overrides the member runs in a real engine (select_victims: in a real
extender, the only host that calls it), and the outcome differs from that of a plugin that does not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.builders import World, member, node, only, pod, pod_group, profile_config
from tests.builders.engine_host import Host
from tests.unit.extender.handlers.test_preempt_verb import evictions, full

from stowplan.api import PodGroup, codec
from stowplan.config.feature_gates import GENERIC_WORKLOAD, TOPOLOGY_AWARE
from stowplan.config.releases import LATEST
from stowplan.errors import ConfigError
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.framework import (
    Action,
    CycleState,
    EventResource,
    Explanation,
    Nodes,
    Placement,
    Plugin,
    PodGroupAssignments,
    PodGroupInfo,
    PostFilterResult,
    Refusal,
    Requirement,
    on,
    reject,
    skip,
    wait,
)
from stowplan.insight.explain import explain, run
from stowplan.scheduler.scheduler import kinds_read

PROOFS: dict[str, Callable[[], None]] = {}


def proof(member: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(function: Callable[[], None]) -> Callable[[], None]:
        assert member not in PROOFS
        PROOFS[member] = function
        return function

    return add


def members_of_plugin() -> list[str]:
    return sorted(name for name in {**vars(Plugin), **Plugin.__annotations__} if not name.startswith("_"))


def test_every_member_has_a_proof() -> None:
    assert sorted(PROOFS) == members_of_plugin()


@pytest.mark.parametrize("member", members_of_plugin())
def test_overriding_has_an_effect(member: str) -> None:
    PROOFS[member]()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("stowplan.plugins").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("stowplan.plugins").setLevel(logging.NOTSET)


def plugin(**members: Any) -> type[Plugin]:
    """An out-of-tree plugin called "p"; functions become methods that are called without self."""

    def method(function: Any) -> Any:
        return lambda self, *args: function(*args)

    overrides = {
        key: method(value) if callable(value) and not isinstance(value, type) else value
        for key, value in members.items()
    }
    return type("OutOfTree", (Plugin,), {"name": "p", **overrides})


NODES = tuple(f"n{i}" for i in range(4))


def host(kind: type[Plugin], *pods: Any, config: Any = None, **options: Any) -> Host:
    """An engine with the plugin and four equal nodes, after it has scheduled the pods."""
    made = Host(*[node(name) for name in NODES], config=config, plugins={"p": kind}, **options)
    made.put(*(pods or [pod("a")]))
    made.schedule()
    return made


def node_of(kind: type[Plugin], name: str = "a") -> str:
    return host(kind).node_of(name)


def chosen(**members: Any) -> list[str]:
    """Where a plugin with these members sends three pods; they go to different nodes without it."""
    made = host(plugin(**members), *[pod(f"p{i}") for i in range(3)])
    return [made.node_of(f"p{i}") for i in range(3)]


def refusals(**members: Any) -> str:
    """The message of the PodScheduled condition of a pod that the plugin keeps off every node."""
    made = host(plugin(**members))
    assert made.node_of("a") == ""
    return made.condition("a")[2]


def calls_to_filter(templates: int, **members: Any) -> int:
    """How often the plugin's filter is called for three pods of each template, one pod after the other."""
    calls: list[str] = []
    pods = [pod(f"p{i}", requests={"cpu": f"{i % templates + 1}m"}) for i in range(3 * templates)]
    host(plugin(filter=lambda state, pod, node: calls.append(node.name), **members), *pods)
    return len(calls)


# Attributes


@proof("name")
def _name() -> None:
    kind = plugin(name="Another", filter=lambda *_: 1 / 0)
    assert host(kind).condition("a")[2].startswith('running "Another" filter plugin: ')


@proof("scope")
def _scope() -> None:
    assert calls_to_filter(1, scope="cluster") == 3 * len(NODES)
    assert calls_to_filter(1, scope="node") == 2 * len(NODES)


@proof("normalize")
def _normalize() -> None:
    by_number = {"score": lambda s, p, node: int(node.name[1:])}
    assert set(chosen(**by_number, normalize="min-max")) == {"n3"}
    assert set(chosen(**by_number, normalize="reverse")) == {"n0"}


@proof("score_range")
def _score_range() -> None:
    large = {"score": lambda s, p, node: 1000 * int(node.name[1:])}
    assert set(chosen(**large, score_range=(0, 3000))) == {"n3"}
    assert set(chosen(**large)) == {""}


@proof("needs_objects")
def _needs_objects() -> None:
    def filter_(state: Any, pod: Any, node: Any) -> Any:
        return None if node.object["metadata"]["annotations"].get("ok") else reject("no")

    nodes = [node("n0"), node("n1", annotations={"ok": "yes"})]
    for needed, expected in ((True, "n1"), (False, "")):
        kind = plugin(filter=filter_, needs_objects=needed)
        assert World(nodes, plugins={"p": kind}).decide(pod("a")).node_name == expected


@proof("reads")
def _reads() -> None:
    def kinds(**members: Any) -> set[str]:
        world = World(plugins={"p": plugin(filter=lambda *_: None, **members)})
        return {kind.name for kind in kinds_read(world.profiles.values())}

    assert kinds(reads=("Lease",)) - kinds() == {"Lease"}


@proof("reads_annotations")
def _reads_annotations() -> None:
    def calls(**members: Any) -> int:
        seen: list[str] = []
        first = plugin(scope="node", filter=lambda s, pod, n: seen.append(pod.annotations.get("a", "")), **members)
        host(first, *[pod(f"p{i}", annotations={"a": "x", "b": str(i)}) for i in range(4)])
        assert set(seen) == {"x"}
        return len(seen)

    assert calls(reads_annotations=("a",)) == 2 * len(NODES)
    assert calls() >= 4 * len(NODES)


@proof("parallel_pre_bind")
def _parallel_pre_bind() -> None:
    for allowed, open_calls in ((True, 2), (False, 1)):
        plugins: dict[str, Any] = {
            name: type(name, (Plugin,), {"name": name, "parallel_pre_bind": allowed, "pre_bind": lambda self, *_: None})
            for name in ("p", "q")
        }
        made = Host(node("n"), pod("a"), plugins=plugins)
        made.engine.schedule_one()
        assert [getattr(each, "point", "") for each in made.take()].count("pre_bind") == open_calls


@proof("Args")
def _args() -> None:
    class Wanted(msgspec.Struct):
        number: int = 7

    enabled = {"multiPoint": {"enabled": [{"name": "p"}]}}

    def args(given: Any, **members: Any) -> Any:
        kind = plugin(filter=lambda *_: None, **members)
        return World(plugins={"p": kind}, config=profile_config(enabled, {"p": given})).plugin("p").args

    assert args({"number": 3}) == {"number": 3}
    assert args({"number": 3}, Args=Wanted) == Wanted(3)
    with pytest.raises(ConfigError):
        args({"number": "many"}, Args=Wanted)


# Queue


@proof("pre_enqueue")
def _pre_enqueue() -> None:
    assert host(plugin(pre_enqueue=lambda pod: reject("not yet"))).place("a") == "gated"


def order(**members: Any) -> list[str]:
    """The order in which an engine schedules pods if the plugin sorts the queue."""
    bound: list[str] = []
    members["reserve"] = lambda state, pod, node_name: bound.append(pod.name)
    config = profile_config({**only("queueSort", "p"), "reserve": {"enabled": [{"name": "p"}]}})
    host(plugin(**members), *[pod(name) for name in "bcad"], config=config)
    return bound


def by_name(a: Any, b: Any) -> bool:
    return bool(a.pod.name < b.pod.name)


@proof("less")
def _less() -> None:
    assert order(less=by_name) == list("abcd")
    assert order(less=lambda a, b: by_name(b, a)) == list("dcba")


@proof("sort_key")
def _sort_key() -> None:
    """The key is used instead of `less`."""
    compared: list[Any] = []

    def less(a: Any, b: Any) -> bool:
        compared.append((a, b))
        return by_name(a, b)

    assert order(less=less, sort_key=lambda item: (item.pod.name,)) == list("abcd")
    assert not compared


@proof("events_to_register")
def _events_to_register() -> None:
    for events, place in (((), "unschedulable"), ((on(EventResource.Node, Action.All),), "backoff")):
        refusing = plugin(filter=lambda *_: reject("no"), events_to_register=lambda events=events: events)
        made = host(refusing)
        made.put(node("new"))
        assert made.place("a") == place


# Scheduling cycle


@proof("pre_filter")
def _pre_filter() -> None:
    assert set(chosen(pre_filter=lambda *_: ["n2"])) == {"n2"}


def touched_by_preemption(point: str) -> set[str]:
    """The pods that a method is called with while preemption looks for victims on a full node."""
    seen: set[str] = set()
    kind = plugin(pre_filter=lambda *_: None, **{point: lambda state, pod, other, node: seen.add(other.name)})
    made = Host(node("n", cpu=4), pod("low", on="n", requests={"cpu": "3"}), plugins={"p": kind})
    made.put(pod("high", requests={"cpu": "3"}, priority=10))
    made.schedule()
    return seen


@proof("remove_pod")
def _remove_pod() -> None:
    assert touched_by_preemption("remove_pod") == {"low"}


@proof("add_pod")
def _add_pod() -> None:
    assert touched_by_preemption("add_pod") == {"low"}


@proof("filter")
def _filter() -> None:
    assert set(chosen(filter=lambda s, p, node: None if node.name == "n1" else reject("no"))) == {"n1"}
    assert refusals(filter=lambda *_: reject("never")).startswith("0/4 nodes are available: 4 never.")


@proof("filter_nodes")
def _filter_nodes() -> None:
    assert refusals(filter_nodes=lambda s, p, nodes: [(np.ones(len(nodes), dtype=bool), reject("never"))]).startswith(
        "0/4 nodes are available: 4 never."
    )


@proof("post_filter")
def _post_filter() -> None:
    made = host(
        plugin(filter=lambda *_: reject("never"), post_filter=lambda *_: PostFilterResult("n1")),
        config=profile_config(only("postFilter", "p") | {"filter": {"enabled": [{"name": "p"}]}}),
    )
    assert made.pod("a").status.nominated_node_name == "n1"


@proof("pre_score")
def _pre_score() -> None:
    scoring = {"score": lambda s, p, node: 100 if node.name == "n1" else 0}
    assert set(chosen(**scoring)) == {"n1"}
    assert set(chosen(**scoring, pre_score=lambda *_: skip())) != {"n1"}


@proof("score")
def _score() -> None:
    assert set(chosen(score=lambda s, p, node: 100 if node.name == "n1" else 0)) == {"n1"}


@proof("score_nodes")
def _score_nodes() -> None:
    def score_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        scores = np.zeros(len(nodes), dtype=np.int64)
        for position, info in nodes.infos():
            scores[position] = 100 if info.name == "n1" else 0
        return scores

    assert set(chosen(score_nodes=score_nodes)) == {"n1"}


@proof("normalize_score")
def _normalize_score() -> None:
    def normalize(state: Any, pod: Any, scores: dict[str, int]) -> None:
        scores.update({name: 100 if name == "n1" else 0 for name in scores})

    assert set(chosen(score=lambda *_: 0, normalize_score=normalize)) == {"n1"}


@proof("normalize_nodes")
def _normalize_nodes() -> None:
    def normalize(state: Any, pod: Any, scores: Any, nodes: Any) -> Any:
        new = np.zeros(len(nodes), dtype=np.int64)
        for position, info in nodes.infos():
            new[position] = 100 if info.name == "n1" else 0
        return new

    assert set(chosen(score=lambda *_: 0, normalize_nodes=normalize)) == {"n1"}


@proof("reserve")
def _reserve() -> None:
    assert "taken" in refusals(reserve=lambda *_: reject("taken"))


@proof("unreserve")
def _unreserve() -> None:
    undone: list[str] = []
    refusals(permit=lambda *_: reject("no"), unreserve=lambda s, pod, node_name: undone.append(pod.name))
    assert set(undone) == {"a"}


@proof("permit")
def _permit() -> None:
    assert "no" in refusals(permit=lambda *_: reject("no"))
    made = host(plugin(permit=lambda *_: wait(30)))
    assert made.node_of("a") == ""
    assert made.assumed == {"a"}


# Binding cycle


@proof("pre_bind_pre_flight")
def _pre_bind_pre_flight() -> None:
    made: list[str] = []
    note = {"pre_bind": lambda *_: made.append("pre_bind")}
    host(plugin(**note))
    host(plugin(**note, pre_bind_pre_flight=lambda *_: skip()))
    assert made == ["pre_bind"]


@proof("pre_bind")
def _pre_bind() -> None:
    assert "too late" in refusals(pre_bind=lambda *_: reject("too late"))


@proof("bind")
def _bind() -> None:
    bound: list[str] = []
    kind = plugin(bind=lambda state, pod, node_name: bound.append(pod.name))
    host(kind, config=profile_config(only("bind", "p")))
    assert bound == ["a"]


@proof("post_bind")
def _post_bind() -> None:
    seen: list[tuple[str, str]] = []
    made = host(plugin(post_bind=lambda state, pod, node_name: seen.append((pod.name, node_name))))
    assert seen == [("a", made.node_of("a"))]


# Explanations


def explained(**members: Any) -> Explanation:
    """Why a pod is pending that the plugin keeps off every node."""
    made = World([node(name) for name in NODES], plugins={"p": plugin(**members)})
    return run(explain(made.profile, made.pod(pod("a"))))


@proof("explain")
def _explain() -> None:
    refusal = Refusal(id="quota", text="has no quota left", wanted="quota", lasting=True)
    answer = explained(filter=lambda *_: reject("no"), explain=lambda *_: [refusal])
    assert answer.because is not None
    assert (answer.because.id, answer.verdict) == ("quota", "never")
    assert answer.sentence == "p rejects all 4 nodes: has no quota left."

    failed = explained(filter=lambda *_: reject("no"), explain=lambda *_: 1 / 0)
    assert failed.sentence == "p rejects all 4 nodes: no."
    assert failed.more[0].startswith("explain of plugin p raised ZeroDivisionError: division by zero")


@proof("explain_pod")
def _explain_pod() -> None:
    refusal = Refusal(id="quota", text="namespace default has no quota left")
    answer = explained(pre_filter=lambda *_: reject("no"), explain_pod=lambda *_: iter([refusal]))
    assert answer.sentence == "Namespace default has no quota left."

    failed = explained(pre_filter=lambda *_: reject("no"), explain_pod=lambda *_: [Refusal(id="x", text=7)])  # type: ignore[arg-type]
    assert failed.sentence == "No."
    assert failed.more[0].startswith("explain_pod of plugin p raised ValidationError: Expected `str`, got `int`")


def about_node(method: str, function: Callable[..., Any]) -> Any:
    """The answer of the wrapped plugin about one node."""
    made = World([node("n0")], plugins={"p": plugin(filter=lambda *_: None, **{method: function})})
    info = made.cluster.nodes.get("n0")
    return getattr(made.plugin("p"), method)(CycleState(), made.pod(pod("a")), info)


@proof("requirement")
def _requirement() -> None:
    assert about_node("requirement", lambda *_: Requirement("quota", "none")) == Requirement("quota", "none")
    assert about_node("requirement", lambda *_: None) is None
    failed = about_node("requirement", lambda *_: 1 / 0).there
    assert failed.startswith("requirement of plugin p raised ZeroDivisionError: division by zero")
    assert about_node("requirement", lambda *_: 7).there.startswith("requirement of plugin p raised ValidationError")


@proof("explain_score")
def _explain_score() -> None:
    assert about_node("explain_score", lambda *_: "12 pods") == "12 pods"
    assert about_node("explain_score", lambda *_: 7).startswith("explain_score of plugin p raised ValidationError")


# Extender


@proof("select_victims")
def _select_victims() -> None:
    kind = plugin(select_victims=lambda state, pod, victims: {"n1": victims["n1"]})
    reply = Handlers([GroupMember(kind)]).preempt(full(n1=(["a"], 0), n2=(["b"], 0)))
    assert evictions(reply) == {"n1": (["default/a"], 0)}


# Less work


@proof("concerns")
def _concerns() -> None:
    assert calls_to_filter(3, concerns=lambda template: False) == 0
    assert calls_to_filter(3) > 0


@proof("filter_token")
def _filter_token() -> None:
    """While the token stays the same, only nodes that changed are filtered again."""
    assert calls_to_filter(1, filter_token=lambda pod: "same") < calls_to_filter(1)


@proof("signature")
def _signature() -> None:
    """Templates with the same signature share the answers of a node-scoped plugin."""
    assert calls_to_filter(5, scope="node") == 5 * 2 * len(NODES)
    assert calls_to_filter(5, scope="node", signature=lambda template: "same") < 5 * 2 * len(NODES)


def test_proofs_start_from_nothing() -> None:
    """A plugin that only watches leaves the pods to the in-tree plugins."""
    made = host(plugin(post_bind=lambda *_: None), *[pod(f"p{i}") for i in range(4)])
    assert {made.node_of(f"p{i}") for i in range(4)} == set(NODES)


def test_a_sort_key_that_cannot_be_compared_goes_behind_the_others() -> None:
    keys = {"b": ("b",), "c": (1,), "a": None, "d": ("d",)}
    assert order(less=by_name, sort_key=lambda item: keys[item.pod.name]) == ["b", "d", "c", "a"]


def test_a_sort_key_that_raises() -> None:
    def key(item: Any) -> tuple[str]:
        if item.pod.name == "b":
            raise ValueError("boom")
        return (item.pod.name,)

    assert order(less=by_name, sort_key=key) == ["a", "c", "d", "b"]


def test_a_key_belongs_to_the_less_beside_it() -> None:
    keyed = plugin(less=by_name, sort_key=lambda item: (item.pod.name,))
    reversed_ = type("Reversed", (keyed,), {"less": lambda self, a, b: by_name(b, a)})
    seen: list[str] = []
    reversed_.reserve = lambda self, state, pod, node_name: seen.append(pod.name)  # type: ignore[attr-defined]
    config = profile_config({**only("queueSort", "p"), "reserve": {"enabled": [{"name": "p"}]}})
    host(reversed_, *[pod(name) for name in "bca"], config=config)
    assert seen == list("cba")


def group_nodes(**members: Any) -> set[str]:
    """The nodes of two members of a pod group, of which either half of the nodes can take both."""
    release = LATEST.with_gates({GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True})
    labels = ({"half": "0"}, {"half": "0"}, {"half": "1"}, {"half": "1"})
    world = World(
        [node(name, labels=of) for name, of in zip(NODES, labels, strict=True)],
        release=release,
        config=HALVES if "generate_placements" in members else None,
        plugins={"p": plugin(**members)},
    )
    rack = "" if "generate_placements" in members else "half"
    world.cluster.put(codec.convert(PodGroup, pod_group(rack=rack)))
    pods = [world.add_member(member(f"m{i}", requests={"cpu": "3"})) for i in range(2)]
    return {outcome.node_name for outcome in world.decide_group("g", pods).outcomes}


HALVES = profile_config({"placementGenerate": {"disabled": [{"name": "TopologyPlacementGenerator"}]}})


@proof("generate_placements")
def _generate_placements() -> None:
    def last_two(state: CycleState, group: PodGroupInfo, parent: Placement) -> list[Placement]:
        names = {position: info.name for position, info in parent.nodes.infos()}
        slots = parent.nodes.slots_at(np.array([at for at, name in names.items() if name in NODES[2:]]))
        return [Placement("last", Nodes(slots, len(slots), [info for _, info in parent.nodes.infos()]))]

    assert group_nodes(generate_placements=last_two) == set(NODES[2:])


@proof("score_placement")
def _score_placement() -> None:
    for half, expected in (("0", NODES[:2]), ("1", NODES[2:])):
        found = group_nodes(score_placement=lambda state, group, given, half=half: 100 * (given.placement.name == half))
        assert found == set(expected)


@proof("normalize_placement_score")
def _normalize_placement_score() -> None:
    def reverse(state: CycleState, group: PodGroupInfo, scores: dict[str, int]) -> None:
        for name, score in scores.items():
            scores[name] = 100 - score

    def first(state: CycleState, group: PodGroupInfo, given: PodGroupAssignments) -> int:
        return 100 * (given.placement.name == "0")

    assert group_nodes(score_placement=first) == set(NODES[:2])
    assert group_nodes(score_placement=first, normalize_placement_score=reverse) == set(NODES[2:])
