"""A placeholder rule: a hash of the names of pod and node decides."""

from __future__ import annotations

import zlib

from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject


def luck(pod: Pod, node: NodeInfo) -> int:
    """A number from 0 to 10 computed from the two names."""
    return zlib.crc32(f"{pod.name}/{node.name}".encode()) % 11


class Lucky(Plugin):
    """Rejects nodes with luck 0 and prefers those with more."""

    name = "lucky"
    score_range = (0, 10)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("pod(s) were unlucky") if luck(pod, node) == 0 else None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return luck(pod, node)
