"""Plugins such as users write them, one for each way in which answers may or may not be remembered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stowplan.framework import (
    CycleState,
    Mask,
    NodeInfo,
    Nodes,
    Plugin,
    Pod,
    Scores,
    Status,
    error,
    reject,
    reject_forever,
    skip,
)


class Racks(Plugin):
    """By the node object alone."""

    name = "racks"
    scope = "node"
    normalize = "min-max"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject_forever("node(s) had the wrong disk") if node.labels.get("disk") == "hdd" else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(node.labels.get("rack", 0)) / 3


class Crowds(Plugin):
    """By the pods on the node."""

    name = "crowds"
    scope = "node+pods"
    score_range = (0.0, 12.0)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject(f"node(s) had {len(node.pods)} pods") if len(node.pods) > 5 else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return 12.0 - 2 * min(len(node.pods), 6)


class Namesakes(Plugin):
    """By anything: the pod's name, other nodes; normalised in its own way."""

    name = "namesakes"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        if pod.labels.get("app") == "b":
            return skip()
        state.write(self.name, len(pod.name) + nodes.meant)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) had bad luck") if (state.read(self.name) + node.slot) % 4 == 0 else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 7 * len(node.name) + node.slot

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> None:
        best = max(scores.values())
        for name in scores:
            scores[name] = 100 - (best - scores[name])


class Columns(Plugin):
    """In vector form."""

    name = "columns"
    scope = "node"
    normalize = "default"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        odd = np.zeros(len(nodes), dtype=np.bool_)
        named = np.zeros(len(nodes), dtype=np.bool_)
        for position, node in nodes.infos():
            odd[position] = node.labels.get("rack", "0") == "7"
            named[position] = node.name == "n3"
        yield odd, reject("node(s) were odd")
        yield named, reject_forever("node(s) were the third")

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        scores: Scores = np.zeros(len(nodes), dtype=np.int64)
        for position, node in nodes.infos():
            scores[position] = len(node.labels)
        return scores


class Nominees(Plugin):
    """Names the nodes that some pods may go to."""

    name = "nominees"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[str] | Status | None:
        if pod.labels.get("tier") == "web":
            return ["n0", "n1", "n5", "nowhere"]
        return reject("pod(s) came too late") if pod.priority < 0 else None


class Absentee(Plugin):
    """Cached by its word, yet silent about some pods."""

    name = "absentee"
    scope = "node"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return skip() if pod.template.labels.get("app") == "a" else None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) were not b") if node.labels.get("topology.kubernetes.io/zone") != "b" else None

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return skip() if pod.template.labels.get("app") == "b" else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 50 if node.taints else 10


class Gossip(Plugin):
    """Says that it looks at nodes alone, and looks at the pod's name."""

    name = "gossip"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) had heard of the pod") if (len(pod.uid) + node.slot) % 3 == 0 else None


class Counting(Plugin):
    """Keeps counts in the cycle state that AddPod and RemovePod have to update."""

    name = "counting"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write(self.name, Count(sum(len(node.pods) for _, node in nodes.infos())))

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> None:
        state.read(self.name).number += 1

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> None:
        state.read(self.name).number -= 1

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) saw too many pods") if state.read(self.name).number > 12 else None


class Fragile(Plugin):
    """Breaks on some nodes, by error and by exception, whether or not other plugins let the pod go there."""

    name = "fragile"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return error("cannot tell") if node.labels.get("rack") == "12" else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 10 * len(node.labels["topology.kubernetes.io/zone"])


class Excessive(Plugin):
    """Gives crowded nodes more than there is to give."""

    name = "excessive"
    scope = "node+pods"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 30 * len(node.pods)


class Count:
    def __init__(self, number: int) -> None:
        self.number = number

    def clone(self) -> Count:
        return Count(self.number)


OUT_OF_TREE_PLUGINS: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (Racks, Crowds, Namesakes, Columns, Nominees, Absentee, Gossip, Counting, Fragile, Excessive)
}
