"""The contract between plugins and the code that runs them.

Belongs here: the Plugin base class, the table of extension points, Status, CycleState, cluster events and queueing
hints, the Pod and NodeInfo that plugins read, the Handle, the decision record, the types of the vector form, the
instructions that the engine gives to its host, reservations of plugins, and texts for exceptions and values of
out-of-tree code. Does not belong here: code that runs plugins, and plugins. May import: `api`, `logs` and `errors`, so
that authors of plugins do not load an engine.

Upstream: k8s.io/kube-scheduler/framework
"""

from typing import TYPE_CHECKING

from stowplan.framework.cycle_state import PODS_TO_ACTIVATE, CycleState, StateNotFoundError
from stowplan.framework.decision_record import (
    CandidateRecord,
    DecisionRecord,
    FunnelStage,
    PluginScore,
    PreemptionRecord,
    Rejection,
)
from stowplan.framework.events import (
    ALL_EVENTS,
    Action,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    on,
)
from stowplan.framework.explanation import (
    Change,
    ChangeKind,
    Explanation,
    LeavingPod,
    PatchOperation,
    Refusal,
    Requirement,
    StartingPods,
)
from stowplan.framework.handle import Handle, WaitingPod
from stowplan.framework.instructions import (
    Bind,
    Call,
    CancelledError,
    EmitEvent,
    Evict,
    Failure,
    Instruction,
    PatchStatus,
    RepeatEvent,
    Request,
    Sleep,
    Together,
    Write,
)
from stowplan.framework.node_info import NodeInfo
from stowplan.framework.plugin import Normalizer, Plugin, PostFilterResult, Scope, implements
from stowplan.framework.pod import Pod, PodTemplate
from stowplan.framework.pod_group import (
    POD_GROUP_CYCLE,
    Placement,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupState,
)
from stowplan.framework.queued_pod_info import QueuedPodInfo
from stowplan.framework.status import Code, Status, accept, error, pending, reject, reject_forever, skip, wait

if TYPE_CHECKING:
    from stowplan.framework.vector import Mask, Nodes, Scores, Slots, no_scores
else:

    def __getattr__(name: str) -> object:
        """The vector types load on first use: commands that only read a configuration do not load NumPy."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from stowplan.framework import vector

        value = globals()[name] = getattr(vector, name)
        return value


__all__ = [
    "ALL_EVENTS",
    "PODS_TO_ACTIVATE",
    "POD_GROUP_CYCLE",
    "Action",
    "Bind",
    "Call",
    "CancelledError",
    "CandidateRecord",
    "Change",
    "ChangeKind",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleState",
    "DecisionRecord",
    "EmitEvent",
    "EventResource",
    "Evict",
    "Explanation",
    "Failure",
    "FunnelStage",
    "Handle",
    "Instruction",
    "LeavingPod",
    "Mask",
    "NodeInfo",
    "Nodes",
    "Normalizer",
    "PatchOperation",
    "PatchStatus",
    "Placement",
    "Plugin",
    "PluginScore",
    "Pod",
    "PodGroupAssignments",
    "PodGroupInfo",
    "PodGroupState",
    "PodTemplate",
    "PostFilterResult",
    "PreemptionRecord",
    "QueuedPodInfo",
    "QueueingHint",
    "Refusal",
    "Rejection",
    "RepeatEvent",
    "Request",
    "Requirement",
    "Scope",
    "Scores",
    "Sleep",
    "Slots",
    "StartingPods",
    "StateNotFoundError",
    "Status",
    "Together",
    "WaitingPod",
    "Write",
    "accept",
    "error",
    "implements",
    "no_scores",
    "on",
    "pending",
    "reject",
    "reject_forever",
    "skip",
    "wait",
]
