"""Users' plugins asked about some nodes: kept answers are those of plugins asked afresh."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.builders import node, pod

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.framework import CycleState, Mask, NodeInfo, Nodes, Plugin, Pod, Status, error, reject, reject_forever
from stowplan.runtime.out_of_tree.plugin_runner import PASSES, PluginRunner
from stowplan.runtime.points.cycle_error import CycleError


class Listening(Plugin):
    name = "listening"
    scope = "node"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.asked: list[str] = []

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        self.asked.append(node.name)
        if pod.spec.priority == 7:
            _ = pod.name
        return reject(node.labels["why"]) if "why" in node.labels else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        self.asked.append(node.name)
        return float(node.labels.get("score", 0))


class Overlapping(Plugin):
    name = "overlapping"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        names = np.array([info.name for _, info in nodes.infos()])
        yield np.isin(names, ["a", "b"]), reject("first")
        yield np.isin(names, ["b", "c"]), reject_forever("second")


class Scene:
    def __init__(self, *kinds: type[Plugin]) -> None:
        self.cluster = Cluster()
        for name in "abc":
            self.put(name)
        self.plugins = [kind(None, None) for kind in kinds]  # type: ignore[arg-type]
        self.panel = PluginRunner(self.cluster, self.plugins)

    def put(self, name: str, **labels: str) -> None:
        self.cluster.put_node(codec.convert(api.Node, node(name, labels=labels)))

    def pod(self, name: str = "p", **spec: Any) -> Pod:
        return self.cluster.pod(codec.convert(api.Pod, pod(name, **spec)))

    def filter(self, names: str, of: Pod | None = None) -> dict[str, str]:
        slots = np.array([self.cluster.nodes.slot_of[name] for name in names], dtype=np.intp)
        verdicts = self.panel.filter(self.panel.plugins, CycleState(), of or self.pod(), slots, lambda: None)
        return {
            name: verdicts.statuses[code].message
            for name, code in zip(names, verdicts.codes.tolist(), strict=True)
            if code != PASSES
        }

    def score(self, names: str) -> list[float]:
        slots = np.array([self.cluster.nodes.slot_of[name] for name in names], dtype=np.intp)
        (scores,) = self.panel.score(
            [(p, 1) for p in self.panel.plugins], CycleState(), self.pod(), slots, lambda: None
        )
        return scores.normalized.tolist()  # type: ignore[no-any-return]


def test_answers_are_kept_until_the_node_changes() -> None:
    scene = Scene(Listening)
    (plugin,) = scene.plugins
    assert isinstance(plugin, Listening)
    assert scene.filter("ab") == {}
    scene.put("b", why="full")
    assert scene.filter("cba", scene.pod("q")) == {"b": "full"}
    assert plugin.asked == ["a", "b", "c", "b"]
    assert scene.filter("abc", scene.pod("r", priority=1)) == {"b": "full"}
    assert len(plugin.asked) == 7


def test_a_plugin_that_reads_the_pods_name_is_asked_every_time() -> None:
    scene = Scene(Listening)
    (plugin,) = scene.plugins
    assert isinstance(plugin, Listening)
    for name in "pq":
        plugin.asked.clear()
        assert scene.filter("ab", scene.pod(name, priority=7)) == {}
        assert set(plugin.asked) == {"a", "b"}


def test_reasons_against_one_node_are_put_together() -> None:
    assert Scene(Overlapping).filter("abc") == {"a": "first", "b": "first, second", "c": "second"}


def test_scores_are_kept_as_well() -> None:
    scene = Scene(Listening)
    (plugin,) = scene.plugins
    assert isinstance(plugin, Listening)
    scene.put("b", score="30")
    assert scene.score("ab") == [0, 30]
    scene.put("c", score="50")
    assert scene.score("cba") == [50, 30, 0]
    assert plugin.asked == ["a", "b", "c"]


def test_an_error_about_a_node_breaks_it_off() -> None:
    class Broken(Plugin):
        name = "broken"
        scope = "node"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return error("no idea")

    with pytest.raises(CycleError, match='running "broken" filter plugin: no idea'):
        Scene(Broken).filter("a")


def test_time_is_on_the_account_of_each_plugin() -> None:
    scene = Scene(Listening, Overlapping)
    scene.filter("abc")
    assert set(scene.panel.seconds) == {"listening", "overlapping"}


def test_pauses_come_between_nodes_and_may_end_it() -> None:
    scene = Scene(Listening)
    for number in range(200):
        scene.put(f"n{number}")
    slots = np.arange(200, dtype=np.intp)

    class EnoughError(Exception):
        pass

    calls = 0

    def pause() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        scene.panel.filter(scene.panel.plugins, CycleState(), scene.pod(), slots, pause)
    (plugin,) = scene.plugins
    assert isinstance(plugin, Listening)
    assert 0 < len(plugin.asked) < 200


def test_too_many_different_reasons_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.runtime.out_of_tree.plugin_runner._MAX_STATUSES", 3)
    scene = Scene(Listening)
    for number in range(10):
        scene.put("a", why=f"reason {number}")
        assert scene.filter("abc") == {"a": f"reason {number}"}
    assert len(scene.panel._statuses) <= 4
