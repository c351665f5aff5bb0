"""The extension points, one row each: everything that other rooms need to know about a point is a field of its row.

A new point is a row here, a method of `Plugin`, a field of `config.types.Plugins`, and a runner with its caller. The
configuration's checks, the adapter of out-of-tree plugins, metrics, queueing hints and the extender read the row.

Upstream: pkg/scheduler/apis/config/types.go (Plugins), pkg/scheduler/framework/runtime/framework.go
(getExtensionPoints), pkg/scheduler/metrics/metrics.go (extension point labels)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stowplan.framework.extender import ExtenderVerb
from stowplan.framework.plugin import implements

PRE_ENQUEUE = "preEnqueue"
QUEUE_SORT = "queueSort"
PRE_FILTER = "preFilter"
FILTER = "filter"
POST_FILTER = "postFilter"
PRE_SCORE = "preScore"
SCORE = "score"
RESERVE = "reserve"
PERMIT = "permit"
PRE_BIND = "preBind"
BIND = "bind"
POST_BIND = "postBind"
PLACEMENT_GENERATE = "placementGenerate"
PLACEMENT_SCORE = "placementScore"

MULTI_POINT = "multiPoint"
"""A list of the configuration and no point: its plugins run at every point that they implement."""

Phase = Literal["queue", "filtering", "post-filter", "scoring", "binding", "placement"]
"""The part of a pod's way in which a point runs. "binding" begins with Reserve, once a node is chosen."""

Forwarding = Literal["", "inline", "outside"]
"""How the adapter of out-of-tree plugins calls a method: by a method of its own that checks the answer; by passing the
arguments on and checking that a Status is returned; the same as a Call instruction, since the method may block."""

ExtenderRole = Literal["", "serves", "needs", "joins"]
"""What it means for an extender that a plugin implements the point: it serves the verb; the point runs as part of the
verb, which the scheduler has to be configured for; the point runs as part of the verb if there is one."""


@dataclass(frozen=True, slots=True)
class PointStep:
    """Something that is done at a point: a call of a plugin's method, and the error if it fails."""

    name: str
    go_name: str = ""
    """Label `extension_point` in metrics; empty for a step that is not measured."""
    methods: tuple[str, ...] = ()
    error: str = ""
    """The text for an error, with {plugin} and {message}."""
    forwarding: Forwarding = ""
    """Of the first method."""
    idle_status: str = ""
    """The status that metrics record if no plugin delays the pod here; empty for none."""


@dataclass(frozen=True, slots=True)
class Point(PointStep):
    """An extension point. `name` is the field of `plugins` in the configuration; `go_name`, with "Plugin" appended, is
    the interface that error messages name; a class that overrides one of `methods` implements the point."""

    phase: Phase = field(kw_only=True)
    validation_order: int = field(kw_only=True)
    """kube-scheduler fills its lists, and so reports configuration errors, in this order."""
    more: tuple[PointStep, ...] = ()
    """Further steps at the point."""
    registers_events: bool = False
    """Whether plugins at the point can keep a pod waiting, and so register the events that wake it."""
    weighted: str = ""
    """For points with weights: the name of the plugins in error messages."""
    verb: ExtenderVerb | None = None
    """The extender verb that runs the point."""
    role: ExtenderRole = ""

    @property
    def interface(self) -> str:
        """kube-scheduler's name for the plugins of the point: `FilterPlugin` for `filter`."""
        return f"{self.go_name}Plugin"

    @property
    def steps(self) -> tuple[PointStep, ...]:
        return (self, *self.more)


# fmt: off
POINTS = (
    Point(
        PRE_ENQUEUE, "PreEnqueue", ("pre_enqueue",), forwarding="inline",
        phase="queue", validation_order=11, registers_events=True,
    ),
    Point(QUEUE_SORT, "QueueSort", ("less",), phase="queue", validation_order=12),
    Point(
        PRE_FILTER, "PreFilter", ("pre_filter",), 'running PreFilter plugin "{plugin}": {message}',
        phase="filtering", validation_order=1, registers_events=True, verb="filter", role="serves",
        more=(
            PointStep("addPod", "", ("add_pod",), 'running AddPod on PreFilter plugin "{plugin}": {message}', "inline"),
            PointStep(
                "removePod", "", ("remove_pod",),
                'running RemovePod on PreFilter plugin "{plugin}": {message}', "inline",
            ),
        ),
    ),
    Point(
        FILTER, "Filter", ("filter", "filter_nodes"), 'running "{plugin}" filter plugin: {message}',
        phase="filtering", validation_order=2, registers_events=True, verb="filter", role="serves",
    ),
    Point(POST_FILTER, "PostFilter", ("post_filter",), phase="post-filter", validation_order=3),
    Point(
        PRE_SCORE, "PreScore", ("pre_score",), 'running PreScore plugin "{plugin}": {message}', "inline",
        phase="scoring", validation_order=5, verb="prioritize", role="joins",
    ),
    Point(
        SCORE, "Score", ("score", "score_nodes"), 'running Score plugins: plugin "{plugin}" failed with: {message}',
        phase="scoring", validation_order=6, weighted="score plugins", verb="prioritize", role="serves",
        more=(
            PointStep(
                "normalize", "ScoreExtensionNormalize", ("normalize_score", "normalize_nodes"),
                'running Normalize on Score plugins: plugin "{plugin}" failed with: {message}',
            ),
            PointStep(
                "weigh",
                error='applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score '
                "{message}, it should in the range of [0, 100] after normalizing",
            ),
        ),
    ),
    Point(
        RESERVE, "Reserve", ("reserve", "unreserve"), 'running Reserve plugin "{plugin}": {message}', "inline",
        "Success", phase="binding", validation_order=4, registers_events=True, verb="bind", role="needs",
        more=(PointStep("unreserve", "Unreserve", ("unreserve",), forwarding="inline"),),
    ),
    Point(
        PERMIT, "Permit", ("permit",), 'running Permit plugin "{plugin}": {message}', "outside", "Success",
        phase="binding", validation_order=10, registers_events=True,
    ),
    Point(
        PRE_BIND, "PreBind", ("pre_bind",), 'running PreBind plugin "{plugin}": {message}', "outside", "Success",
        phase="binding", validation_order=7, verb="bind", role="needs",
        more=(
            PointStep(
                "preBindPreFlight", "PreBindPreFlight", ("pre_bind_pre_flight",),
                'running PreBindPreFlight "{plugin}": {message}', "inline", "Skip",
            ),
        ),
    ),
    Point(
        BIND, "Bind", ("bind",), 'running Bind plugin "{plugin}": {message}', "outside",
        phase="binding", validation_order=8, verb="bind", role="serves",
    ),
    Point(
        POST_BIND, "PostBind", ("post_bind",), "", "outside", "Success",
        phase="binding", validation_order=9, verb="bind", role="joins",
    ),
    Point(
        PLACEMENT_GENERATE, "PlacementGenerate", ("generate_placements",),
        phase="placement", validation_order=13, registers_events=True,
    ),
    Point(
        PLACEMENT_SCORE, "PlacementScore", ("score_placement",),
        'running PlacementScore plugins: plugin "{plugin}" failed with: {message}',
        phase="placement", validation_order=14, weighted="placement score plugins",
        more=(
            PointStep(
                "normalizePlacements", "PlacementScoreExtensionNormalize", ("normalize_placement_score",),
                "running NormalizePlacementScore on PlacementScore plugins: plugin \"{plugin}\" failed with: {message}",
                "inline",
            ),
            PointStep(
                "weighPlacements",
                error='applying score defaultWeights on PlacementScore plugins: plugin "{plugin}" returns an invalid '
                "score {message}, it should in the range of [0, 100] after normalizing",
            ),
        ),
    ),
)
# fmt: on
"""In the order in which they run; the last two run for pod groups alone."""

POINT_BY_NAME = {point.name: point for point in POINTS}

POINTS_IN_VALIDATION_ORDER = tuple(sorted(POINTS, key=lambda point: point.validation_order))

RUN_POINTS = tuple(point for point in POINTS if point.phase != "placement")
"""The points that run for single pods."""

STEPS = tuple(step for point in POINTS for step in point.steps)

ERROR_TEXTS = {step.name: step.error for step in STEPS}
"""By the name of a point or step."""


def implements_point(cls: type, point: Point | str) -> bool:
    """Whether a class overrides a method of the point."""
    row = POINT_BY_NAME[point] if isinstance(point, str) else point
    return any(implements(cls, method) for method in row.methods)


def extender_verbs(cls: type) -> set[ExtenderVerb]:
    """The verbs that an extender serves with a plugin of this class."""
    served = {p.verb for p in POINTS if p.verb is not None and p.role == "serves" and implements_point(cls, p)}
    return served | {"preempt"} if implements(cls, "select_victims") else served
