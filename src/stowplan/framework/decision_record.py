"""The Decision record: all that is to be told about one decision, as plain data with a stable JSON form.

`evaluate` prints it today; the simulator's tables, decision logs and explanations are other views of the same record.
"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the record's parts; what does not apply is left out of the JSON."""


class Rejection(Record, frozen=True):
    """A plugin's refusal of the pod or of one node."""

    code: str
    plugin: str
    reasons: tuple[str, ...]


class FunnelStage(Record, frozen=True):
    """How many nodes were left after a filter that rejected any."""

    plugin: str
    remaining: int


class PluginScore(Record, frozen=True):
    """What one plugin gave one node."""

    raw: float
    normalized: int
    weighted: int


class CandidateRecord(Record, frozen=True):
    """A node on which evictions would make room."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int = msgspec.field(name="pdbViolations")


class PreemptionRecord(Record, frozen=True):
    """What the preemption search found."""

    candidates: tuple[CandidateRecord, ...] = ()
    tied: tuple[str, ...] = ()
    chosen: str = ""
    message: str = ""


class DecisionRecord(Record, frozen=True, kw_only=True):
    """One scheduling decision, from all nodes down to the chosen one, or to why there is none."""

    pod: str
    uid: str = ""
    scheduler_name: str = ""
    attempt: int = 1
    node: str = ""
    tied: tuple[str, ...] = ()
    """All nodes with the best total, where there is more than one."""
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
