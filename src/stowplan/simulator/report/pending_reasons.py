"""Why a pod fits nowhere, node by node, in a form that thousands of waiting pods can afford."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from stowplan.cache.nodes import NodeTable
from stowplan.framework import Status
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.fit_error import reason_counts

_FAST = 1


class PendingReasons(NamedTuple):
    """What the nodes were refused for. Slots stand for nodes, so it is to be read while the cluster has them still."""

    statuses: tuple[Status, ...]
    verdicts: bytes
    """By slot an index into `statuses`, or -1; compressed, since neighbours mostly look alike."""
    left_out: Status | None
    """What all other nodes get, where PreFilter kept them from being looked at."""
    main_reason: str
    """The one that most nodes were refused for."""

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> PendingReasons | None:
        """What a diagnosis found out about nodes; None where the pod was refused before it came to them."""
        if diagnosis.pre_filtered.status is not None:
            return None
        verdicts = diagnosis.verdicts.astype(np.int32).tobytes()
        counts = reason_counts(diagnosis)
        main = min(counts, key=lambda reason: (-counts[reason], reason), default="")
        return cls(tuple(diagnosis.statuses), zlib.compress(verdicts, _FAST), diagnosis.absent, main)

    def nodes_by_reason(self, nodes: NodeTable) -> dict[str, list[str]]:
        """The names of the nodes for each reason, the most frequent one first; a node may have several."""
        found: dict[str, list[str]] = {}
        verdicts = np.frombuffer(zlib.decompress(self.verdicts), dtype=np.int32).tolist()
        for slot, verdict in enumerate(verdicts):
            info = nodes.infos[slot]
            status = self.statuses[verdict] if verdict >= 0 else self.left_out
            if info is not None and status is not None:
                for reason in status.reasons:
                    found.setdefault(reason, []).append(info.name)
        return {reason: found[reason] for reason in sorted(found, key=lambda reason: (-len(found[reason]), reason))}
