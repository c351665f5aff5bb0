"""The base class of every plugin: what authors of out-of-tree plugins can override.

Upstream: k8s.io/kube-scheduler/framework/interface.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stowplan.framework.cycle_state import CycleState
from stowplan.framework.events import ALL_EVENTS, ClusterEventWithHint
from stowplan.framework.node_info import NodeInfo
from stowplan.framework.pod import Pod, PodTemplate
from stowplan.framework.status import Status

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stowplan.framework.handle import Handle
    from stowplan.framework.queued_pod_info import QueuedPodInfo
    from stowplan.framework.vector import Mask, Nodes, Scores

Scope = Literal["node", "node+pods", "cluster"]
"""What filter and score answers depend on besides the pod's template: the node object; also the pods on the node;
or anything at all. The first two are cached for each template and asked again only for nodes that changed."""

Normalizer = Literal["default", "default-reverse", "min-max", "reverse"]
"""Ready normalisers: kube-scheduler's own (100 x raw / max, or reversed), and linear stretching of the range that
occurs to 0..100 (or 100..0)."""


class PostFilterResult:
    """What PostFilter proposes: the node to nominate ("" clears a nomination). A rejection that goes with it lets the
    plugins that follow have a try."""

    __slots__ = ("nominated_node_name", "status")

    def __init__(self, nominated_node_name: str, status: Status | None = None) -> None:
        self.nominated_node_name = nominated_node_name
        self.status = status


class Plugin:
    """Subclass, give it a `name`, override the points that you need: what is overridden is what it implements.

    A plugin keeps no state of a cycle in itself: what one point tells a later one goes through the CycleState.
    """

    name: ClassVar[str] = ""
    """What configurations call it."""
    scope: ClassVar[Scope] = "cluster"
    """What filter and score answers depend on; "node" and "node+pods" let them be kept."""
    normalize: ClassVar[Normalizer | None] = None
    """A ready normaliser for scores. Without one they must lie in 0..100, or `normalize_score` brings them there."""
    score_range: ClassVar[tuple[float, float] | None] = None
    """Maps scores linearly from this range to 0..100, for authors whose scale is another."""
    needs_objects: ClassVar[bool] = False
    """Whether it reads `pod.object` or `node.object`, the whole API objects, which are kept for such plugins only."""
    reads: ClassVar[tuple[str, ...]] = ()
    """The kinds, besides Pod and Node, whose objects the plugin looks up; no others are watched for it."""
    parallel_pre_bind: ClassVar[bool] = False
    """Whether PreBind may run beside that of neighbouring plugins which allow it, too."""
    Args: ClassVar[type | None] = None
    """A msgspec.Struct that `pluginConfig` args are decoded into, strictly; None leaves them a plain dict."""

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    # Queue
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep the pod out of the queue by a rejection; it is asked again after the events that are registered."""

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        """Whether `a` is to be tried before `b`. One plugin orders the queue, the same in all profiles."""
        return False

    def sort_key(self, item: QueuedPodInfo) -> tuple[Any, ...] | None:
        """Override beside `less`, for a faster queue: a tuple of numbers and strings that orders like `less`, always of
        the same length and types. A pod whose key is something else goes behind all others."""
        return None

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        """The changes of the cluster after which a pod that this plugin rejected is worth another attempt."""
        return ALL_EVENTS

    # Scheduling cycle
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | Iterable[str] | None:
        """Reject or skip the pod by a Status, or restrict it to the nodes with the names returned."""

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status | None:
        """Adjust what PreFilter wrote, as if another pod were on the node; for what-if questions."""

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status | None:
        """Adjust what PreFilter wrote, as if another pod had left the node; for what-if questions."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """None where the pod may use the node, a rejection where it may not."""

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[tuple[Mask, Status]]:
        """Vector form of `filter`: masks of rejected nodes with the status they get, which may overlap."""
        return ()

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        """Called when no node is left, with the rejections by node: make room, and nominate a node."""

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Look at the feasible nodes once before they are scored; `skip()` leaves out `score` for this pod."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        """How good the node is; the more the better."""
        return 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Vector form of `score`."""
        raise NotImplementedError

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Status | None:
        """Change the scores of all feasible nodes, by node name, in place."""

    def normalize_nodes(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        """Vector form of `normalize_score`; `scores` are those of the feasible nodes alone."""
        raise NotImplementedError

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The node is chosen: set aside what the pod will need there. A rejection gives the node up."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo `reserve`, whether or not it was called, since a later step failed. In the reverse order of plugins."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Let the pod be bound, reject it, or hold it back with `wait(seconds)` until somebody allows it."""

    # Binding cycle
    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Say beforehand, by `skip()`, that `pre_bind` has nothing to do for this pod."""

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Work that has to be done before the pod is bound, and may take time."""

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Bind the pod, or leave it to the next plugin with `skip()`."""

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """The pod is bound; tidy up or take notes."""

    # Extender only
    def select_victims(
        self, state: CycleState, pod: Pod, victims: Mapping[str, Iterable[Pod]]
    ) -> Mapping[str, Iterable[Pod]]:
        """For the preempt verb: which of the proposed victims, by node, may be evicted. Nodes may be left out."""
        return victims

    # What lets the runtime do less; answers never depend on them
    def concerns(self, template: PodTemplate) -> bool:
        """False where pods of the template are none of this plugin's business, whatever the cluster holds."""
        return True

    def filter_token(self, pod: Pod) -> Hashable | None:
        """For a plugin of cluster scope: a value which, while it stays equal, promises that filter answers change only
        on nodes that changed themselves. None promises nothing, and every node is asked in every cycle."""
        return None

    def signature(self, template: PodTemplate) -> Hashable:
        """The part of the template that this plugin's node-scoped answers read; equal parts share results."""
        return template


def implements(cls: type, method: str) -> bool:
    """Whether a class overrides one of Plugin's methods."""
    return getattr(cls, method, None) is not getattr(Plugin, method)
