"""The decision record: everything that is reported about one decision, as plain data with a stable JSON form.

`evaluate` prints it; the simulator's tables, decision logs and explanations are views of the same record.
"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the record's parts; fields with their default are left out of the JSON."""


class Rejection(Record, frozen=True):
    """A plugin's rejection of the pod or of one node."""

    code: str
    plugin: str
    reasons: tuple[str, ...]


class FunnelStage(Record, frozen=True):
    """The number of nodes that remain after a filter that rejected some."""

    plugin: str
    remaining: int


class PluginScore(Record, frozen=True):
    """The score of one node by one plugin."""

    raw: float
    normalized: int
    weighted: int


class CandidateRecord(Record, frozen=True):
    """A node on which evictions would make room."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int = msgspec.field(name="pdbViolations")


class PreemptionRecord(Record, frozen=True):
    """The result of the search for preemption candidates."""

    candidates: tuple[CandidateRecord, ...] = ()
    tied: tuple[str, ...] = ()
    chosen: str = ""
    message: str = ""


class DecisionRecord(Record, frozen=True, kw_only=True):
    """One scheduling decision: how the nodes were narrowed down to the chosen one, or why no node was chosen."""

    pod: str
    uid: str = ""
    scheduler_name: str = ""
    attempt: int = 1
    node: str = ""
    tied: tuple[str, ...] = ()
    """All nodes with the best total, if there is more than one."""
    nodes: int = 0
    error: str = ""
    message: str = ""
    pre_enqueue: Rejection | None = None
    pre_filter: Rejection | None = None
    pre_filter_nodes: tuple[str, ...] | None = None
    funnel: tuple[FunnelStage, ...] = ()
    rejected: dict[str, Rejection] = {}
    feasible: tuple[str, ...] = ()
    scores: dict[str, dict[str, PluginScore]] = {}
    totals: dict[str, int] = {}
    preemption: PreemptionRecord | None = None
