"""The base class of every plugin: what authors of out-of-tree plugins can override.

Upstream: k8s.io/kube-scheduler/framework/interface.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stowplan.framework.cycle_state import CycleState
from stowplan.framework.events import ALL_EVENTS, ClusterEventWithHint
from stowplan.framework.explanation import Refusal, Requirement
from stowplan.framework.node_info import NodeInfo
from stowplan.framework.pod import Pod, PodTemplate
from stowplan.framework.status import Status

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stowplan.framework.handle import Handle
    from stowplan.framework.pod_group import Placement, PodGroupAssignments, PodGroupInfo
    from stowplan.framework.queued_pod_info import QueuedPodInfo
    from stowplan.framework.vector import Mask, Nodes, Scores

Scope = Literal["node", "node+pods", "cluster"]
"""What a plugin's `filter` and `score` depend on besides the pod's template."""

Normalizer = Literal["default", "default-reverse", "min-max", "reverse"]
"""Ready normalisers: kube-scheduler's own (100 x raw / max, or reversed), and linear mapping of the range of the scores
to 0..100 (or 100..0)."""


class PostFilterResult:
    """Result of PostFilter: the node to nominate; "" clears a nomination. With a rejection as status, the next plugin
    is called."""

    __slots__ = ("nominated_node_name", "status")

    def __init__(self, nominated_node_name: str, status: Status | None = None) -> None:
        self.nominated_node_name = nominated_node_name
        self.status = status


class Plugin:
    """Base class of plugins. A subclass implements the extension points whose methods it overrides.

    One instance is made for each profile. A plugin keeps no data of a scheduling cycle in itself: it passes data from
    one extension point to a later one through the CycleState.
    """

    name: ClassVar[str] = ""
    """The plugin's name in configurations, messages and metrics."""
    scope: ClassVar[Scope] = "cluster"
    """What `filter` and `score` depend on besides the pod's template: "node" (the node object), "node+pods" (also the
    pods on the node) or "cluster" (anything else). With the first two, answers are kept for each template and
    computed again only for nodes that changed."""
    normalize: ClassVar[Normalizer | None] = None
    """A ready normaliser for the scores. None: scores are within 0..100, or `normalize_score` brings them there."""
    score_range: ClassVar[tuple[float, float] | None] = None
    """(lowest, highest) score that `score` returns; scores are mapped linearly from this range to 0..100."""
    needs_objects: ClassVar[bool] = False
    """Whether the plugin reads `pod.object` or `node.object`. The whole API objects are kept only if it does."""
    reads_annotations: ClassVar[tuple[str, ...] | Literal[True]] = ()
    """The keys of pod annotations that the plugin reads; True: all. They become part of the pod's template, so that a
    plugin with a scope "node" or "node+pods" that reads them stays fast. Name the keys if you can: annotations that
    differ for every pod leave nothing to share."""
    reads: ClassVar[tuple[str, ...]] = ()
    """The kinds, besides Pod and Node, that the plugin reads through `handle.objects`. They are watched for it."""
    parallel_pre_bind: ClassVar[bool] = False
    """Whether `pre_bind` may run in parallel with that of neighbouring plugins that allow it as well."""
    Args: ClassVar[type | None] = None
    """A msgspec.Struct or a dataclass that the plugin's `pluginConfig` is decoded into; unknown fields and wrong types
    are errors. None: `args` is a plain dict."""

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        """The plugin's `pluginConfig` as `Args`, or as a dict, which is empty if there is none."""
        self.handle = handle
        """The scheduler's services for plugins."""

    # Queue
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Decides whether a pod may enter the active queue. Called when the pod is created or changed, and after the
        events that the plugin registered. A rejection keeps the pod out of the queue."""

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        """Whether pod `a` is scheduled before pod `b`. Called by the active queue; exactly one QueueSort plugin is
        enabled, the same in all profiles."""
        return False

    def sort_key(self, item: QueuedPodInfo) -> tuple[Any, ...] | None:
        """The pod's position in the queue as a tuple, for a faster queue: called instead of `less` if both are
        overridden, and must order like `less`. Returns numbers and strings, always of the same length and types; a
        pod whose key is anything else goes behind all other pods."""
        return None

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        """The cluster events that can make a pod schedulable which this plugin rejected. Called once, at the start.
        The default is all events."""
        return ALL_EVENTS

    # Filtering
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | Iterable[str] | None:
        """Prepares filtering. Called once for each pod, before `filter`. Returns None; or the names of the only nodes
        to consider; or a rejection of the pod; or `skip()`, and `filter` is not called for this pod."""

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status | None:
        """Updates what `pre_filter` wrote to `state` as if the pod `added` were on the node. Called for nominated pods
        and while preemption searches for victims. Returns None, or an error."""

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status | None:
        """Updates what `pre_filter` wrote to `state` as if the pod `removed` had left the node. Called while preemption
        searches for victims. Returns None, or an error."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Decides whether the pod can run on the node. Called for each node that earlier plugins let pass. Returns
        None, or a rejection with its reason."""

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterable[tuple[Mask, Status]]:
        """Vector form of `filter`, called instead of it if overridden. Returns pairs of a mask over `nodes` and the
        rejection of the nodes in it; masks may overlap."""
        return ()

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        """Makes room for a pod that no node is feasible for. Called with the rejections by node name. Returns a
        PostFilterResult with the node to nominate, or a rejection, after which the next plugin is called."""

    # Scoring
    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Prepares scoring. Called once for each pod with the feasible nodes, if there is more than one. Returns None;
        or `skip()`, and `score` is not called for this pod; or an error."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        """Rates the node; higher is better. Called for each feasible node, if there is more than one. Returns a
        number, or an error. The weights of the configuration apply after normalising."""
        return 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Vector form of `score`, called instead of it if overridden. Returns one number for each node."""
        raise NotImplementedError

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Status | None:
        """Brings the scores of the feasible nodes into 0..100, in place. Called after `score`, with the scores by node
        name. Returns None, or an error."""

    def normalize_nodes(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        """Vector form of `normalize_score`, called instead of it if overridden. Returns the new scores."""
        raise NotImplementedError

    # Binding
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Reserves what the pod needs on its node. Called once the node is chosen, before the pod is bound. Returns
        None, or a rejection, which gives the node up."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undoes `reserve` after a later step failed. Called in reverse order of the plugins, also if `reserve` was not
        called; it must not fail."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Lets the pod be bound, or delays or prevents it. Called after `reserve`. Returns None; or a rejection; or
        `wait(seconds)`: the pod waits until the plugin allows or rejects it (`handle.waiting_pod`), and is rejected
        when the time is over."""

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Whether `pre_bind` has work to do for the pod. Called before `pre_bind`. Returns None; or `skip()`, and
        `pre_bind` is not called; or an error."""

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Does the work that must be finished before the pod is bound; it may take time. Returns None, or a rejection
        or error, which gives the node up."""

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Binds the pod to the node. Returns None; or `skip()`, and the next Bind plugin is called; or an error."""

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Called after the pod was bound, to clean up. The result is ignored."""

    # Pod groups: called with the feature gate TopologyAwareWorkloadScheduling
    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, parent: Placement
    ) -> Status | Iterable[Placement]:
        """Divides the nodes among which a pod group is tried. Called once for each cycle of a group, with the
        feature gate TopologyAwareWorkloadScheduling; at most one plugin of a profile implements it, so that
        TopologyPlacementGenerator has to be disabled. Returns placements with names of their own, each a part of the
        nodes of `parent`; or an error."""
        return (parent,)

    def score_placement(
        self, state: CycleState, group: PodGroupInfo, assignments: PodGroupAssignments
    ) -> float | Status:
        """Rates a placement in which the group fits; higher is better. Called for each of them, if there is more than
        one. Returns a number, or an error. The weights of the configuration apply after normalising."""
        return 0

    def normalize_placement_score(
        self, state: CycleState, group: PodGroupInfo, scores: dict[str, int]
    ) -> Status | None:
        """Brings the scores of the placements into 0..100, in place. Called after `score_placement`, with the scores by
        the name of the placement. Returns None, or an error."""

    # Explanations: called on request only
    def explain(self, state: CycleState, pod: Pod, node: NodeInfo) -> Iterable[Refusal]:
        """Why `filter` rejects the node, with amounts, and the smallest changes that could end it. Called for a node
        that the plugin rejects, after `pre_filter` of the same cycle. Without it, only the status is reported."""
        return ()

    def explain_pod(self, state: CycleState, pod: Pod, status: Status) -> Iterable[Refusal]:
        """Why `pre_filter` rejects the pod as a whole, with the status that it returned. The text of a refusal is a
        sentence about the pod: `Claim data does not exist in namespace shop`. Without it, only the status is
        reported."""
        return ()

    def requirement(self, state: CycleState, pod: Pod, node: NodeInfo) -> Requirement | None:
        """What the plugin requires of the node for the pod, and what the node has, whether or not the node passes.
        None: nothing worth reporting."""
        return None

    def explain_score(self, state: CycleState, pod: Pod, node: NodeInfo) -> str:
        """The score of the node in a few words: `12 pods in the zone`. Called after `pre_score` of the same cycle."""
        return ""

    # Extender
    def select_victims(
        self, state: CycleState, pod: Pod, victims: Mapping[str, Iterable[Pod]]
    ) -> Mapping[str, Iterable[Pod]]:
        """Selects from the victims that a scheduler proposes. Called for the preempt verb of an extender. Returns the
        pods that may be evicted, by node name; nodes may be left out."""
        return victims

    # Less work: decisions do not depend on these methods
    def concerns(self, template: PodTemplate) -> bool:
        """Whether the plugin has anything to do for pods of the template, whatever the state of the cluster. With
        False, it is not run for such pods."""
        return True

    def filter_token(self, pod: Pod) -> Hashable | None:
        """For a plugin of scope "cluster": a value that stays equal as long as `filter` can change only on nodes that
        changed themselves. Called in every cycle. With None, all nodes are filtered in every cycle."""
        return None

    def signature(self, template: PodTemplate) -> Hashable:
        """For a plugin of scope "node": the part of the template that `filter` and `score` read. Templates with equal
        parts share the answers."""
        return template


def implements(cls: type, method: str) -> bool:
    """Whether a class overrides one of Plugin's methods."""
    return getattr(cls, method, None) is not getattr(Plugin, method)


def is_set_beside(cls: type, attribute: str, *methods: str) -> bool:
    """Whether an attribute that describes methods was set by the class that last overrode one of them, or by a
    subclass of that class. Otherwise it describes methods that were overridden since."""
    for each in cls.__mro__:
        if each is Plugin:
            break
        if attribute in vars(each):
            return True
        if not vars(each).keys().isdisjoint(methods):
            break
    return False


def need_objects(factories: Iterable[object]) -> bool:
    """Whether one of the plugins reads whole API objects. Factories are classes, or functions that may have the
    attribute `needs_objects` of a class."""
    return any(getattr(factory, "needs_objects", False) for factory in factories)
