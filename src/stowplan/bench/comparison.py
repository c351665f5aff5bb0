"""Figures of ours beside those of others: how they compare, and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Ratios = dict[str, dict[str, float]]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A bar, and what was measured against it."""

    bar: str
    measured: float
    met: bool


def ratios_of(ours: Any, peers: Mapping[str, Any], fields: Sequence[str]) -> Ratios:
    """Our figures divided by those of each peer."""
    return {
        name: {field: getattr(ours, field) / max(getattr(peer, field), 1e-9) for field in fields}
        for name, peer in peers.items()
    }


def encode(fields: dict[str, Any]) -> bytes:
    """A line of `--json`; more than three decimals would be noise."""
    return msgspec.json.encode(_rounded(msgspec.to_builtins(fields)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_rounded(member) for member in value]
    return value
