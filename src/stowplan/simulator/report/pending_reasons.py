"""Why a pod fits on no node, node by node, in a form compact enough for thousands of pending pods."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from stowplan.cache.nodes import NodeTable
from stowplan.framework import Status
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.fit_error import reason_counts

_FASTEST_COMPRESSION = 1


class PendingReasons(NamedTuple):
    """Rejections by slot; valid as long as the slots refer to the same nodes."""

    statuses: tuple[Status, ...]
    verdicts: bytes
    """By slot, an index into `statuses` or -1; compressed, since neighbours are mostly equal."""
    left_out: Status | None
    """The status of all other nodes, if PreFilter restricted the nodes."""
    main_reason: str
    """The most frequent reason."""

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> PendingReasons | None:
        """From a diagnosis; None if PreFilter rejected the pod."""
        if diagnosis.pre_filtered.status is not None:
            return None
        verdicts = diagnosis.verdicts.astype(np.int32).tobytes()
        counts = reason_counts(diagnosis)
        main = min(counts, key=lambda reason: (-counts[reason], reason), default="")
        return cls(tuple(diagnosis.statuses), zlib.compress(verdicts, _FASTEST_COMPRESSION), diagnosis.absent, main)

    def nodes_by_reason(self, nodes: NodeTable) -> dict[str, list[str]]:
        """Names of nodes by reason, the most frequent reason first; a node may have several."""
        found: dict[str, list[str]] = {}
        verdicts = np.frombuffer(zlib.decompress(self.verdicts), dtype=np.int32).tolist()
        for slot, verdict in enumerate(verdicts):
            info = nodes.infos[slot]
            status = self.statuses[verdict] if verdict >= 0 else self.left_out
            if info is not None and status is not None:
                for reason in status.reasons:
                    found.setdefault(reason, []).append(info.name)
        return {reason: found[reason] for reason in sorted(found, key=lambda reason: (-len(found[reason]), reason))}
