"""A sample: luck decides, the same way each time that the same pod and node meet."""

from __future__ import annotations

import zlib

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


def luck(pod: Pod, node: NodeInfo) -> int:
    """From 0 to 10, out of the names."""
    return zlib.crc32(f"{pod.name}/{node.name}".encode()) % 11


class Lucky(Plugin):
    """A pod must have some luck with a node to go there, and goes where it has most."""

    name = "lucky"
    score_range = (0, 10)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("pod(s) were unlucky") if luck(pod, node) == 0 else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return luck(pod, node)
