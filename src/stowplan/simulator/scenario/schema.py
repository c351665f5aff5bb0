"""The fields of a Scenario document. Times, rates and random quantities are checked when the scenario is compiled."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from stowplan.simulator.scenario.field_types import (
    Amount,
    Bound,
    Count,
    Interval,
    Moment,
    Name,
    OptionalInterval,
    OptionalRandomTime,
    OptionalTime,
    Percentage,
    PodLimit,
    PositiveAmount,
    RandomCount,
    RandomTime,
    Rate,
    Share,
    Time,
    UserCount,
    one_of,
)

API_VERSION = "simulation.stowplan/v1alpha1"
KIND = "Scenario"


class ScenarioPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all parts of a scenario."""


class ScenarioMetadata(ScenarioPart, frozen=True, kw_only=True):
    """The name of the scenario."""

    name: str = ""
    """The name in reports and tables; by default the file's name without its ending."""


class UntilSpec(ScenarioPart, frozen=True, kw_only=True):
    """The end of the run: the first of these that comes. At least one is given."""

    time: OptionalInterval = None
    """This long after the start; required with an autoscaler, and with anything else that never ends."""
    drained: bool = False
    """No pod is pending or running, and none will arrive."""
    arrivals: OptionalTime = None
    """This long after the last arrival."""
    stuck: bool = False
    """Nothing is due and no pod can be placed."""


class PoolSpec(ScenarioPart, frozen=True, kw_only=True):
    """Equal nodes, named after the pool: general-1, general-2 and so on. An autoscaler may change their number."""

    name: Name = ""
    """The pool's name, which no other pool has; nodes have it in the label `simulation.stowplan/pool`."""
    count: Count = 0
    """Number of nodes at the start, at most 1,000,000."""
    template: dict[str, Any] = {}
    """A Node: labels, taints, and `status.allocatable` or `status.capacity`, one of which is required."""
    zones: dict[str, PositiveAmount] = {}
    """Zones with their weights: nodes are divided among the zones in proportion to the weights."""
    price: Amount = 0.0
    """Price of a node per hour, in any currency; the metric `cost` is the sum over all nodes."""
    startup: RandomTime = 0
    """Time from a scale-up until a new node is Ready."""


class NodesSpec(ScenarioPart, frozen=True, kw_only=True):
    """The nodes at the start, in addition to those of `manifests`."""

    pools: tuple[PoolSpec, ...] = ()
    """Groups of equal nodes."""
    trace: dict[str, Any] = {}
    """Nodes of a trace: `loader`, `path` and options of the loader."""


class PoissonSpec(ScenarioPart, frozen=True, kw_only=True):
    """Independent arrivals."""

    rate: Rate = None
    """Mean number of arrivals per time, greater than 0; required."""
    curve: str = ""
    """A CSV file with columns time and factor, by which the rate is multiplied; repeated after its last time."""


class BurstsSpec(ScenarioPart, frozen=True, kw_only=True):
    """Many arrivals at once, again and again."""

    every: OptionalInterval = None
    """Time from the begin of a burst to the begin of the next; the first is at `from`. Required."""
    size: RandomCount = None
    """Number of arrivals in a burst; required."""
    spread: Time = 0
    """The arrivals of a burst are spread evenly at random over this time, at most `every`."""


class ClosedSpec(ScenarioPart, frozen=True, kw_only=True):
    """Users that submit the next object some time after the last one has ended."""

    users: UserCount = 0
    """Number of users, 1 or more; each has one object at a time."""
    think: RandomTime = 0
    """Time from the end of a user's object to the next submission."""


class ArrivalsSpec(ScenarioPart, frozen=True, kw_only=True):
    """When objects of a workload are created. Exactly one process is given."""

    at: tuple[Time, ...] = ()
    """A process: arrivals at these times."""
    every: OptionalInterval = None
    """A process: arrivals at equal intervals, the first at `from`."""
    poisson: PoissonSpec | None = None
    """A process: arrivals at random, independent of each other."""
    bursts: BurstsSpec | None = None
    """A process: many arrivals at once, at equal intervals."""
    closed: ClosedSpec | None = None
    """A process: a fixed number of users, each of which waits for its object to end."""
    file: str = ""
    """A process: the times of a CSV file with a column time, and possibly one named duration; if that is empty,
    annotations of the pod apply."""
    from_: Time = msgspec.field(default=0, name="from")
    """Begin of the arrivals, after the start of the scenario; earlier ones are left out."""
    to: OptionalTime = None
    """End of the arrivals, after the start of the scenario; by default they do not end."""
    batch: RandomCount = 1
    """Objects at each arrival."""
    limit: Count = 0
    """Largest number of arrivals; 0 sets no limit."""


class ReplicasSpec(ScenarioPart, frozen=True, kw_only=True):
    """Replicas over time."""

    at: dict[str, Count] = {}
    """Replicas by time; required. Before the first time there are none."""
    ramp: Time = 0
    """Time that each change takes, in steps of one replica."""


class LoadSpec(ScenarioPart, frozen=True, kw_only=True):
    """A load that determines the replicas, as a HorizontalPodAutoscaler does: load / target, rounded up."""

    file: str = ""
    """A CSV file with columns time and load."""
    target: PositiveAmount = 1.0
    """Load of one replica."""
    min: Count = 1
    """Smallest number of replicas."""
    max: Count = 1000
    """Largest number of replicas."""


class RestartSpec(ScenarioPart, frozen=True, kw_only=True):
    """What an interrupted pod keeps of its work; nothing by default."""

    checkpoint: OptionalInterval = None
    """Time between checkpoints: work up to the last one is kept. Excludes `resume`."""
    resume: bool = False
    """Whether all work is kept."""


class ZipfSpec(ScenarioPart, frozen=True, kw_only=True):
    """Names with weights 1, 1/2^s, 1/3^s and so on."""

    names: tuple[str, ...] = ()
    """The names, the most frequent one first."""
    s: float = 1.0
    """The exponent; 0 makes all names equally likely."""


class ChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Names with weights, of which each arrival draws one. Exactly one of both is given."""

    choice: dict[str, Amount] = {}
    """Names with their weights, of any sum."""
    zipf: ZipfSpec | None = None
    """Names whose weights follow Zipf's law."""


class ScenarioWorkloadSpec(ScenarioPart, frozen=True, kw_only=True):
    """A workload: one object with replicas over time, or objects that arrive. Exactly one of manifest, template and
    trace is given."""

    name: Name = ""
    """The workload's name, which no other workload has; metrics and expectations refer to it. Required."""
    manifest: str = ""
    """A file. `$n` is the number of the arrival and `$at` its time in seconds."""
    template: dict[str, Any] = {}
    """The object itself, in place of a file."""
    arrivals: ArrivalsSpec | None = None
    """When objects are created; by default one is created at the start."""
    replicas: ReplicasSpec | None = None
    """Replicas over time; by default those of the object. Excludes `arrivals` and `load`."""
    load: LoadSpec | None = None
    """A load over time that determines the replicas. Excludes `arrivals` and `replicas`."""
    duration: OptionalRandomTime = None
    """Time that a pod of a Job, or a pod without a controller, runs; by default that of its annotations or its trace,
    and without either for ever."""
    startup: RandomTime = 0
    """Time from the binding of a pod until it runs: image pull and start."""
    restart: RestartSpec = RestartSpec()
    """What an interrupted pod keeps of its work."""
    resubmit: bool = False
    """Whether interrupted pods without a controller are created again."""
    priority: ChoiceSpec | None = None
    """PriorityClasses with their weights."""
    tenant: ChoiceSpec | None = None
    """Values of the label `tenant`."""
    gang: bool = False
    """Whether the pods of a Job are placed together or not at all: each Job gets a PodGroup."""
    trace: dict[str, Any] = {}
    """Arrivals of a trace: `loader` (a name or ./file.py:Class), `path` and options of the loader."""


class DeletionSpec(ScenarioPart, frozen=True, kw_only=True):
    """Pods to delete, drawn at random. Exactly one of share and count is given."""

    selector: dict[str, str] = {}
    """Labels that the pods have."""
    workload: str = ""
    """The workload of the pods; by default pods of all workloads."""
    share: Share = 0.0
    """Share of these pods, from 0 to 1, rounded to a whole number of pods."""
    count: Count = 0
    """Number of these pods."""


class RollSpec(ScenarioPart, frozen=True, kw_only=True):
    """A rolling update of a Deployment: all its pods are replaced."""

    kind: Annotated[str, one_of("Deployment")] = "Deployment"
    """The kind of the object."""
    name: Name = ""
    """The Deployment's name; required."""
    namespace: str = "default"
    """The Deployment's namespace."""
    max_unavailable: PodLimit = msgspec.field(default="25%", name="maxUnavailable")
    """Replicas that may be missing during the update: a number, or a percentage of the replicas, rounded down."""
    max_surge: PodLimit = msgspec.field(default="25%", name="maxSurge")
    """Replicas that may exist in addition: a number, or a percentage of the replicas, rounded up."""


class ChurnSpec(ScenarioPart, frozen=True, kw_only=True):
    """Changes of pods that the scheduler did not cause. Exactly one of at and every, and one of delete and roll, is
    given."""

    at: OptionalTime = None
    """Time of the only change, after the start."""
    every: OptionalInterval = None
    """Time between changes; the first is this long after `from`."""
    from_: Time = msgspec.field(default=0, name="from")
    """Begin of the repeated changes, after the start."""
    to: OptionalTime = None
    """End of the repeated changes, after the start; by default they do not end."""
    delete: DeletionSpec | None = None
    """Pods to delete."""
    roll: RollSpec | None = None
    """A Deployment to update."""


class NodeChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Nodes by pool, zone, name or labels; all conditions must hold. Without conditions all nodes."""

    pool: str = ""
    """The pool of the nodes."""
    zone: str = ""
    """The zone of the nodes: the label `topology.kubernetes.io/zone`."""
    name: str = ""
    """The name of the only node."""
    selector: dict[str, str] = {}
    """Labels that the nodes have."""
    count: Count = 0
    """Only so many of them, drawn at random; 0: all. For failures with `at`."""


class PodChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Pods by workload."""

    workload: str = ""
    """The workload of the pods; by default pods of all workloads."""


class FailureSpec(ScenarioPart, frozen=True, kw_only=True):
    """Failures of nodes, pods or requests: exactly one of nodes, pods and requests is given. Failures of nodes have one
    of at, mtbf and hazard."""

    nodes: NodeChoiceSpec | None = None
    """The nodes that fail."""
    kind: Annotated[str, one_of("fail", "drain", "vanish", "spot", "degrade")] = "fail"
    """Of nodes. fail: unreachable after 50 s, and its pods are evicted after their tolerationSeconds. drain: cordoned,
    and its pods are evicted as budgets permit. vanish: the Node is deleted with its pods. spot: drained, and deleted
    after `notice`. degrade: allocatable resources shrink to `share`. An autoscaler may replace deleted nodes."""
    at: OptionalTime = None
    """Time of the only failure, after the start; all chosen nodes fail at once."""
    for_: OptionalRandomTime = msgspec.field(default=None, name="for")
    """Time until the nodes are back, as they were; by default never. Preferred to `mttr`."""
    mtbf: OptionalInterval = None
    """Mean time between failures of each node, which are exponentially distributed."""
    mttr: OptionalRandomTime = None
    """Time until a failed node is back, as it was; by default never."""
    hazard: Rate = None
    """Failures of each node per time: 1 / mtbf."""
    notice: Time = 120
    """Of spot: time between the notice and the end of the node."""
    share: Share = 0.5
    """Of degrade: the share of allocatable resources that is left, from 0 to 1."""
    pods: PodChoiceSpec | None = None
    """The pods that fail."""
    fail: Share = 0.0
    """Of pods: probability that a pod fails, after a part of its work that is drawn at random."""
    requests: Annotated[str, one_of("bind", "all")] = ""
    """Requests that fail: bind or all."""
    lose: Share = 0.0
    """Of requests: probability that a request is lost, and has no effect."""
    lose_answer: Share = msgspec.field(default=0.0, name="loseAnswer")
    """Of requests: probability that a request has its effect, and its answer is lost."""
    conflict: Share = 0.0
    """Probability that a binding fails with a conflict."""


class GroupSpec(ScenarioPart, frozen=True, kw_only=True):
    """A pool that the autoscaler changes. The size of the group is the number of Nodes that exist and are not being
    removed: nodes that vanish or are reclaimed leave the group, and are replaced when pods need them."""

    pool: Name = ""
    """The name of the pool; required."""
    min: Count = 0
    """Smallest number of nodes that a scale-down leaves. A group below it does not grow unless pods need it."""
    max: Count = 1000
    """Largest number of nodes that a scale-up reaches; not smaller than the pool's `count`."""
    priority: int = 0
    """For the expander `priority`: the group with the largest number is chosen."""


def _flag(name: str, default: Any) -> Any:
    return msgspec.field(default=default, name=name)


class AutoscalerSpec(ScenarioPart, frozen=True, kw_only=True):
    """A model of cluster-autoscaler or Karpenter, with the names and defaults of their settings. Settings of the other
    kind have no effect."""

    kind: Annotated[str, one_of("cluster-autoscaler", "karpenter")] = "cluster-autoscaler"
    """The model: cluster-autoscaler or karpenter."""
    groups: Annotated[tuple[GroupSpec, ...], msgspec.Meta(extra_json_schema={"minItems": 1})] = ()
    """The pools that are scaled; at least one. For Karpenter they are the instance types."""
    expander: Annotated[str, one_of("random", "most-pods", "least-waste", "least-nodes", "price", "priority")] = (
        "least-waste"
    )
    """cluster-autoscaler: the group that grows, of those that take a pending pod. random: drawn; most-pods: most
    pending pods placed; least-waste: smallest share of CPU and memory left free; least-nodes: fewest new nodes; price:
    lowest price per placed pod; priority: largest `priority`. Of equal groups the first in `groups`."""
    scan_interval: Interval = _flag("scan-interval", "10s")
    """cluster-autoscaler: time between evaluations of scale-up and scale-down."""
    new_pod_scale_up_delay: Time = _flag("new-pod-scale-up-delay", 0)
    """cluster-autoscaler: pods cause a scale-up only this long after their first scheduling attempt."""
    scale_down_enabled: bool = _flag("scale-down-enabled", True)
    """cluster-autoscaler: whether nodes are removed."""
    scale_down_unneeded_time: Time = _flag("scale-down-unneeded-time", "10m")
    """cluster-autoscaler: time that a node has to be unneeded before it is removed."""
    scale_down_delay_after_add: Time = _flag("scale-down-delay-after-add", "10m")
    """cluster-autoscaler: time after a scale-up during which no node is removed."""
    scale_down_utilization_threshold: float = _flag("scale-down-utilization-threshold", 0.5)
    """cluster-autoscaler: a node may be unneeded if the larger of its requested shares of CPU and memory, of a node
    with GPUs that of the GPUs, is below this."""
    max_node_provision_time: Time = _flag("max-node-provision-time", "15m")
    """Both: a new node that is not Ready after this time is deleted; cluster-autoscaler leaves its group alone for
    5 minutes then."""
    batch_idle_duration: Time = _flag("batch-idle-duration", "1s")
    """Karpenter: a batch of pending pods is complete when no pod was added to it for this time."""
    batch_max_duration: Time = _flag("batch-max-duration", "10s")
    """Karpenter: longest time that a batch stays open."""
    consolidation_policy: Annotated[str, one_of("WhenEmpty", "WhenEmptyOrUnderutilized")] = _flag(
        "consolidationPolicy", "WhenEmptyOrUnderutilized"
    )
    """Karpenter: WhenEmpty removes nodes without pods; WhenEmptyOrUnderutilized also those whose pods fit on other
    nodes, or on one cheaper new node."""
    consolidate_after: Time = _flag("consolidateAfter", 0)
    """Karpenter: time that the number of pods on a node has to be unchanged before the node is consolidated."""
    budget: Share = 0.1
    """Karpenter: share of the nodes, from 0 to 1 and rounded up, that may be removed at once."""
    expire_after: OptionalInterval = _flag("expireAfter", None)
    """Karpenter: age at which a node is drained and removed; by default never."""


class LowNodeUtilizationSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions from overutilized nodes while there are underutilized ones. Requests are compared, in percent of
    allocatable by resource: cpu, memory, pods, ephemeral-storage or an extended resource."""

    thresholds: dict[str, Percentage] = {}
    """A node that exceeds none of these is underutilized."""
    target_thresholds: dict[str, Percentage] = msgspec.field(default={}, name="targetThresholds")
    """A node that exceeds one of these is overutilized, and pods are evicted until it does not."""
    number_of_nodes: Count = msgspec.field(default=0, name="numberOfNodes")
    """Nothing is evicted unless more nodes than this are underutilized."""


class HighNodeUtilizationSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions from underutilized nodes, for schedulers that pack pods (MostAllocated)."""

    thresholds: dict[str, Percentage] = {}
    """A node that exceeds none of these percentages is underutilized."""
    number_of_nodes: Count = msgspec.field(default=0, name="numberOfNodes")
    """Nothing is evicted unless more nodes than this are underutilized."""


class PodLifeTimeSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions of old pods."""

    max_seconds: OptionalInterval = msgspec.field(default=None, name="maxPodLifeTimeSeconds")
    """Pods that are older are evicted, the oldest first; required."""


class DeschedulerSpec(ScenarioPart, frozen=True, kw_only=True):
    """A model of the descheduler, with the names of its strategies and limits. At least one strategy is given."""

    every: Interval = "5m"
    """Time between runs; the first is this long after `from`."""
    from_: Time = msgspec.field(default=0, name="from")
    """Begin of the runs, after the start."""
    to: OptionalTime = None
    """End of the runs, after the start; by default they do not end."""
    low: LowNodeUtilizationSpec | None = msgspec.field(default=None, name="LowNodeUtilization")
    """A strategy: evict pods from overutilized nodes while there are underutilized ones."""
    high: HighNodeUtilizationSpec | None = msgspec.field(default=None, name="HighNodeUtilization")
    """A strategy: evict pods from underutilized nodes, to empty them."""
    age: PodLifeTimeSpec | None = msgspec.field(default=None, name="PodLifeTime")
    """A strategy: evict old pods."""
    max_per_node: Count | None = msgspec.field(default=None, name="maxNoOfPodsToEvictPerNode")
    """Largest number of evictions from a node in a run; by default without a limit."""
    max_total: Count | None = msgspec.field(default=None, name="maxNoOfPodsToEvictTotal")
    """Largest number of evictions of a run; by default without a limit."""


class RecordSpec(ScenarioPart, frozen=True, kw_only=True):
    """What is recorded; does not change the run."""

    every: OptionalInterval = None
    """Interval of samples; by default a minute, and in runs of more than two days the shortest of 5 minutes, 15 minutes
    and an hour that gives at most 3,000 samples."""
    from_: Time = msgspec.field(default=0, name="from")
    """Warm-up: pods submitted before do not count, and means begin here."""
    events: bool = True
    """Whether there is a table of evictions, failures and changes of nodes."""
    attempts: bool = False
    """Whether there is a table of all scheduling attempts, with scores."""
    slo: Annotated[
        dict[str, Interval], msgspec.Meta(extra_json_schema={"propertyNames": {"enum": ["wait", "jct"]}})
    ] = {}
    """Bounds of the metrics `slo.wait` and `slo.jct`."""


class ExpectSpec(ScenarioPart, frozen=True, kw_only=True):
    """An expectation: a metric within bounds, or a state of pods at a moment. Exactly one of metric and pods is given;
    a metric has bounds or `compare`, pods one of all, spread and on."""

    metric: str = ""
    """The name of a metric, such as `wait.p95` or `utilisation.cpu`."""
    where: dict[str, str] = {}
    """Of metrics of pods and jobs: only those of this `workload`, `tenant` or `priority` count."""
    over: tuple[Time, ...] = ()
    """Of cost, nodes, pending, running and utilisation: the window [from, to] in place of the whole run."""
    at: Moment = None
    """A time after the start, or `end`: the state of pods, or the value of nodes, pending, running or utilisation, at
    this moment. By default a metric is that of the whole run, and a state that at the end."""
    below: Bound = None
    """The metric is less than this."""
    above: Bound = None
    """The metric is greater than this."""
    equals: Bound = None
    """The metric is equal to this."""
    pods: dict[str, str] = {}
    """Pods by labels; `name` is the name, and `workload` the workload."""
    all: Annotated[str, one_of("running", "pending")] = ""
    """The state of all these pods: running, which is bound to a node, or pending."""
    spread: str = ""
    """A topology key: the numbers of these pods in its domains differ by at most `skew`."""
    skew: Count = 1
    """Largest difference between the pods of two domains."""
    on: dict[str, str] = {}
    """Labels of the nodes of all these pods; `zone` and `pool` are short."""
    compare: str = ""
    """The folder of an earlier result; the metric may be worse than there by at most `worse`."""
    worse: str = ""
    """How much worse than that the metric may be, such as 5%; by default not at all."""


class ScenarioSpec(ScenarioPart, frozen=True, kw_only=True):
    """A Scenario document. Paths are relative to the folder of its file."""

    api_version: str = msgspec.field(default="", name="apiVersion")
    """`simulation.stowplan/v1alpha1`; required."""
    kind: str = ""
    """`Scenario`; required."""
    metadata: ScenarioMetadata = ScenarioMetadata()
    """The name of the scenario."""
    seed: int = 0
    """Determines all random draws: equal seeds give equal runs. `--seed` overrides it."""
    start: str = "2026-01-01T00:00:00Z"
    """The date and time at which simulated time begins, with a time zone."""
    until: UntilSpec = UntilSpec()
    """The end of the run; required."""
    config: str = ""
    """A KubeSchedulerConfiguration file; by default kube-scheduler's defaults. `--config` overrides it."""
    plugins: tuple[str, ...] = ()
    """Plugins of your own, each as file and class (`./rack_care.py:RackCare`) or module and class."""
    manifests: tuple[str, ...] = ()
    """Files and folders that are applied at the start."""
    grace: Time = 0
    """Time that a deleted pod takes to terminate."""
    ttl: Time = 0
    """Time after which finished pods and Jobs are removed."""
    cycle: Time = 0
    """Simulated time that each scheduling attempt takes."""
    ties: Annotated[str, one_of("noise", "name")] = "noise"
    """Which of equally good nodes is chosen: the first by `name`, or with `noise` the one with the fewest pods (in
    steps of four), and of those a random one, which the seed determines."""
    nodes: NodesSpec = NodesSpec()
    """The nodes at the start."""
    workloads: tuple[ScenarioWorkloadSpec, ...] = ()
    """What is created: objects at the start, or objects that arrive."""
    churn: tuple[ChurnSpec, ...] = ()
    """Deletions of pods and rolling updates."""
    failures: tuple[FailureSpec, ...] = ()
    """Failures of nodes, pods and requests."""
    autoscaler: AutoscalerSpec | None = None
    """A model of a node autoscaler; by default the number of nodes does not change."""
    descheduler: DeschedulerSpec | None = None
    """A model of the descheduler; by default there is none."""
    record: RecordSpec = RecordSpec()
    """What is recorded."""
    expect: tuple[ExpectSpec, ...] = ()
    """Expectations, checked during the run and at its end; the exit status is 4 if one does not hold."""
