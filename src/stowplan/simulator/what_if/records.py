"""The answers of `what-if` and `diff` as data. These structs are the JSON of both commands."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.framework.decision_record import Record
from stowplan.simulator.report.pod_groups import PodGroupReport
from stowplan.simulator.report.use import GroupUse, ResourceUse

WHAT_IF_VERSION = 1


class Why(Record, frozen=True):
    """Why one pod of a workload waits."""

    id: str
    text: str


class WorkloadDifference(Record, frozen=True, kw_only=True):
    """The pods of one workload in both runs."""

    workload: str
    """Namespace, kind and name; kind `Pod` for a pod without a controller."""
    pods: int = 0
    """Before the change."""
    pods_after: int = 0
    pending: int = 0
    """Before the change."""
    placed: int = 0
    """Pods that have a node after the change and would not have one without it."""
    left: int = 0
    """Pods without a node after the change, also those that are not created."""
    displaced: int = 0
    """Pods of drained and failed nodes."""
    moved: int = 0
    """Pods on another node than before."""
    moved_from: str = ""
    """The label value, or the zone, from which most of the moved pods come."""
    moved_to: str = ""
    why: Why | None = None
    zones_before: dict[str, int] = msgspec.field(default_factory=dict)
    zones: dict[str, int] = msgspec.field(default_factory=dict)
    """Placed pods by zone after the change."""


class PodDifference(Record, frozen=True, kw_only=True):
    """A pod on another node than before; without a node it waits."""

    pod: str
    workload: str = ""
    before: str = ""
    """The node in the first run."""
    after: str = ""
    score_before: int | None = None
    score_after: int | None = None


class EvictedPod(Record, frozen=True, kw_only=True):
    """A pod that is preempted after the change."""

    pod: str
    node: str
    preemptor: str
    outcome: str = ""


class BudgetInTheWay(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A PodDisruptionBudget that allows fewer disruptions at a time than pods have to leave."""

    budget: str
    allowed: int
    pods: int


class Totals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The cluster in one run. Amounts are integers: millicores, bytes or numbers."""

    placed: int
    pending: int
    nodes: int
    requested: dict[str, int]
    allocatable: dict[str, int]
    use: tuple[ResourceUse, ...]
    groups: tuple[GroupUse, ...] = ()
    """By zone, or by the label of choice."""
    pod_groups: tuple[PodGroupReport, ...] = ()


class Enough(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The fewest nodes with which everything is placed; -1 if no number is enough."""

    like: str
    nodes: int
    waiting: int = 0
    """Pods that wait with any number of such nodes."""
    pod: str = ""
    """The one of them that `why` is about."""
    why: Why | None = None


class FitDomain(Record, frozen=True, kw_only=True):
    """A zone, or a node in a cluster without zones, and the replicas that it took."""

    domain: str
    nodes: int
    replicas: int
    then: str = ""
    """Why it takes no more."""


class Fit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many more replicas fit."""

    workload: str
    replicas: int
    complete: bool
    """Whether the next replica was refused; otherwise the limit was reached."""
    requests: dict[str, int]
    domains: tuple[FitDomain, ...] = ()
    domain_key: str = ""
    why: Why | None = None
    without: str = ""
    """The rule without which more would fit."""
    replicas_without: int = 0
    busiest: str = ""
    """The node that takes most."""
    busiest_replicas: int = 0


class Removable(Record, frozen=True, kw_only=True):
    """Nodes that could go together with everything still placed."""

    nodes: tuple[str, ...]
    examined: int
    pods: int = 0
    """Pods that would move."""


class RequestStep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A request between the present one and that of the question."""

    resource: str
    amount: int
    """Of the container: millicores, bytes or a number."""
    placed: int
    """Pending pods that would get a place."""


class Asked(Record, frozen=True, kw_only=True):
    """The pods that the question is about, besides those that wait because of the changes."""

    pending: int | None = None
    """The number of pending pods before the changes, if the question is about them."""
    workloads: tuple[str, ...] = ()
    """Workloads that changes name."""


class WhatIfAnswer(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The difference that changes make."""

    version: int
    changes: tuple[Any, ...]
    asked: Asked
    sentence: str
    waiting: int
    """Pods in question that are pending."""
    before: Totals
    after: Totals
    workloads: tuple[WorkloadDifference, ...]
    moved: tuple[PodDifference, ...]
    displaced: int
    evicted: tuple[EvictedPod, ...]
    lost: tuple[str, ...]
    vanished: int
    budgets: tuple[BudgetInTheWay, ...]
    new_nodes: int = 0
    on_new_nodes: int = 0
    """Pods that were pending and are on new nodes."""
    even_zones: str = ""
    """Why other zones take pods as well; part of a sentence."""
    placed_again: int = 0
    steps: tuple[RequestStep, ...] = ()
    """Larger requests than those of the question."""
    enough: tuple[Enough, ...] = ()
    fit: Fit | None = None
    removable: Removable | None = None
    notes: tuple[str, ...] = ()
    plugin_bugs: dict[str, str] = msgspec.field(default_factory=dict)
    """The first bug of each plugin that has shown one."""
    by: str = ""
    """The label of choice by which use is grouped; the zone if empty."""


class DiffAnswer(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The difference between two runs of one input."""

    version: int
    before: str
    """The first run, for people."""
    after: str
    sentence: str
    pods: int
    moved: tuple[PodDifference, ...]
    now_waiting: tuple[PodDifference, ...]
    now_placed: tuple[PodDifference, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    score_changes: int
    """Pods on the same node with another score."""
    score_before: int
    """The sum of the scores of pods that have one in both runs."""
    score_after: int
    workloads: tuple[WorkloadDifference, ...]
    totals_before: Totals | None = None
    totals_after: Totals | None = None
