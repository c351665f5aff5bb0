"""A plugin's Filter on a random cluster, beside its definition in plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from tests.builders import Json
from tests.builders.plugin_rig import PluginRig, message

MakePod = Callable[[str, str], Json]
"""A random pod of a name, on a node or (by "") on none."""


class FilterDefinition(Protocol):
    """What PreFilter knows, with AddPod and RemovePod on top."""

    def verdict(self, host: Json) -> str: ...

    def shift(self, other: Json, host: Json, amount: int) -> None: ...


class DefinitionRun:
    """A cluster made of random nodes and pods, and a pending pod that Filter judges."""

    def __init__(
        self,
        rig: PluginRig[Any],
        nodes: list[Json],
        pods: list[Json],
        pending: Json,
        define: Callable[[Json, list[Json], list[Json]], FilterDefinition],
    ) -> None:
        self.rig = rig
        self.nodes = nodes
        self.pods = pods
        self.pending = rig.pod(pending)
        self._define, self._item = define, pending

    def definition(self) -> Any:
        """The definition for the cluster as it is now."""
        return self._define(self._item, self.nodes, self.pods)

    def check(self) -> dict[str, str]:
        """Filter's reasons by node, which are those of the definition."""
        definition, found = self.definition(), self.rig.reasons(self.pending)
        assert found == {name_of(host): definition.verdict(host) for host in self.nodes}
        return found

    def check_what_if(self, random: Random, make_pod: MakePod) -> None:
        """Filter follows pods that AddPod and RemovePod move between nodes, and ignores them afterwards."""
        state = self.rig.pre_filter(self.pending)
        if state is None:
            return
        host, definition = random.choice(self.nodes), self.definition()
        info = self.rig.cluster.nodes.get(name_of(host))
        assert info is not None
        with self.rig.cluster.what_if() as journal:
            for other in [p for p in self.pods if p["spec"]["nodeName"] == info.name and random.random() < 0.65]:
                journal.remove(self.rig.cluster.pods[other["metadata"]["uid"]], info)
                definition.shift(other, host, -1)
            for i in range(random.randint(0, 2)):
                nominated = make_pod(f"nominated-{i}", "")
                journal.add(self.rig.pod(nominated), info)
                definition.shift(nominated, host, 1)
            assert message(self.rig.plugin.filter(state, self.pending, info)) == definition.verdict(host)
        assert message(self.rig.plugin.filter(state, self.pending, info)) == self.definition().verdict(host)

    def check_changes(self, random: Random, make_node: Callable[[], Json], make_pod: MakePod) -> None:
        """Filter stays right as the cluster changes; while its token stays, so do the answers about other nodes."""
        token, before = self.rig.plugin.filter_token(self.pending), self.check()
        for step in range(25):
            changed = self._change(random, make_node, lambda on, step=step: make_pod(f"more-{step}", on))  # type: ignore[misc]
            renewed, now = self.rig.plugin.filter_token(self.pending), self.check()
            if renewed == token:
                assert now | {changed: ""} == before | {changed: ""}
            token, before = renewed, now

    def _change(self, random: Random, make_node: Callable[[], Json], make_pod: Callable[[str], Json]) -> str:
        """Replace a node, or remove or add a pod. Returns the name of the node."""
        name = name_of(random.choice(self.nodes))
        if random.random() < 0.2:
            replaced = make_node()
            replaced["metadata"]["name"] = name
            self.nodes[:] = [node for node in self.nodes if name_of(node) != name] + [replaced]
            self.rig.put_node(replaced)
        elif self.pods and random.random() < 0.3:
            gone = self.pods.pop(random.randrange(len(self.pods)))
            self.rig.cluster.remove_pod(gone["metadata"]["uid"])
            return str(gone["spec"]["nodeName"])
        else:
            self.pods.append(make_pod(name))
            self.rig.add_pod(self.pods[-1])
        return name


def name_of(item: Json) -> str:
    return str(item["metadata"]["name"])
