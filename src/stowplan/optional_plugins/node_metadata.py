"""NodeMetadata: prefers nodes by a number or a time in one of their labels or annotations.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/nodemetadata
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from math import floor, isfinite

import numpy as np

from stowplan import framework as fwk
from stowplan.config.args.optional import LABEL, METADATA_STRATEGIES, NodeMetadataArgs
from stowplan.optional_plugins.base.go_time import parse_go_time
from stowplan.optional_plugins.base.kept_numbers import KeptNumbers
from stowplan.plugins.base import InTreePlugin

NO_VALUE = -(1 << 63)
"""Raw score of a node without a readable value."""
_MAX_RAW_SCORE = (1 << 63) - 1
_MAX_FAST_RANGE = 1 << 56
"""Differences below this can be multiplied by 99 in an int64."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


class NodeMetadata(InTreePlugin):
    """Raw score: the number, or the time in whole seconds since 1970; negated for Lowest and Oldest.

    A node without a readable value gets 0, the others 1 to 100.
    """

    name = "NodeMetadata"
    scope = "node"
    args: NodeMetadataArgs

    def __init__(self, args: NodeMetadataArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._sign = 1 if args.scoring_strategy in [high for high, _ in METADATA_STRATEGIES.values()] else -1
        self._raw = KeptNumbers(self.nodes, lambda info: (self._value(info),), 1, dtype=np.int64, follows_pods=False)

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return ()

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return self._value(node)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        raw: fwk.Scores = self._raw.of(nodes)[0]
        return raw

    def normalize_score(self, state: fwk.CycleState, pod: fwk.Pod, scores: dict[str, int]) -> fwk.Status | None:
        values = [score for score in scores.values() if score != NO_VALUE]
        lowest, span = (min(values), max(values) - min(values)) if values else (0, 0)
        for name, score in scores.items():
            scores[name] = 0 if score == NO_VALUE else (score - lowest) * 99 // span + 1 if span else 1
        return None

    def normalize_nodes(self, state: fwk.CycleState, pod: fwk.Pod, scores: fwk.Scores, nodes: fwk.Nodes) -> fwk.Scores:
        has_value = scores != NO_VALUE
        if nodes.holes is not None:
            has_value[nodes.holes] = False
        normalized = np.zeros(len(scores), dtype=np.int64)
        values = scores[has_value]
        if not len(values):
            return normalized
        lowest = int(values.min())
        span = int(values.max()) - lowest
        if span == 0:
            normalized[has_value] = 1
        elif span < _MAX_FAST_RANGE:
            normalized[has_value] = (values - lowest) * 99 // span + 1
        else:
            normalized[has_value] = [(value - lowest) * 99 // span + 1 for value in values.tolist()]
        return normalized

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        text = self._text(node)
        return f"has no {self.args.metadata_key}" if text is None else f"{self.args.metadata_key} is {text}"

    def _text(self, node: fwk.NodeInfo) -> str | None:
        metadata = node.metadata
        texts = metadata.labels if self.args.metadata_source == LABEL else metadata.annotations
        return texts.get(self.args.metadata_key)

    def _value(self, node: fwk.NodeInfo) -> int:
        text = self._text(node)
        if text is None:
            return NO_VALUE
        if self.args.metadata_type == "Number":
            value = float(text) if _NUMBER.fullmatch(text) else None
            whole = int(value) if value is not None and isfinite(value) else None
        else:
            moment = parse_go_time(self.args.timestamp_format, text)
            whole = None if moment is None else floor(moment)
        return NO_VALUE if whole is None else self._sign * max(min(whole, _MAX_RAW_SCORE), -_MAX_RAW_SCORE)
