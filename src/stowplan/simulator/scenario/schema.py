"""The fields of a Scenario document. Times, rates and random quantities are checked when the scenario is compiled."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

API_VERSION = "simulation.stowplan/v1alpha1"
KIND = "Scenario"

_TIME = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h|d|w))+$"}],
    "description": "Seconds, or a text such as 90s, 8h30m or 2d.",
}
_RATE = {"type": "string", "pattern": r"^\d+(\.\d+)?/(s|m|h|d|w)$", "description": "A rate such as 40/h."}
_RANDOM = {
    "description": "A value, or one distribution: uniform, exponential, lognormal, pareto, weibull, normal, choice or "
    "empirical, with optional min and max.",
}
Time = Annotated[Any, msgspec.Meta(extra_json_schema=_TIME)]
Rate = Annotated[Any, msgspec.Meta(extra_json_schema=_RATE)]
Random = Annotated[Any, msgspec.Meta(extra_json_schema=_RANDOM)]


class ScenarioPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all parts of a scenario."""


class ScenarioMetadata(ScenarioPart, frozen=True, kw_only=True):
    """The name of the scenario."""

    name: str = ""


class UntilSpec(ScenarioPart, frozen=True, kw_only=True):
    """The end of the run: the first of these that comes."""

    time: Time = None
    drained: bool = False
    """No pod is pending or running, and none will arrive."""
    arrivals: Time = None
    """This long after the last arrival."""
    stuck: bool = False
    """Nothing is due and no pod can be placed."""


class PoolSpec(ScenarioPart, frozen=True, kw_only=True):
    """Equal nodes. An autoscaler may change their number."""

    name: str = ""
    count: int = 0
    template: dict[str, Any] = {}
    """A Node: labels, taints, status.allocatable."""
    zones: dict[str, float] = {}
    """Zones with their weights."""
    price: float = 0.0
    """Per node and hour."""
    startup: Random = 0
    """Time from a scale-up until a new node is Ready."""


class NodesSpec(ScenarioPart, frozen=True, kw_only=True):
    """The nodes at the start."""

    pools: tuple[PoolSpec, ...] = ()
    trace: dict[str, Any] = {}
    """Nodes of a trace: `loader`, `path` and options of the loader."""


class PoissonSpec(ScenarioPart, frozen=True, kw_only=True):
    """Independent arrivals."""

    rate: Rate = None
    curve: str = ""
    """A CSV file with columns time and factor, by which the rate is multiplied; repeated after its last time."""


class BurstsSpec(ScenarioPart, frozen=True, kw_only=True):
    """Many arrivals at once, again and again."""

    every: Time = None
    size: Random = None
    spread: Time = 0
    """The arrivals of a burst are spread evenly at random over this time."""


class ClosedSpec(ScenarioPart, frozen=True, kw_only=True):
    """Users that submit the next object some time after the last one has ended."""

    users: int = 0
    think: Random = 0


class ArrivalsSpec(ScenarioPart, frozen=True, kw_only=True):
    """When objects of a workload are created. Exactly one process is given."""

    at: tuple[Time, ...] = ()
    every: Time = None
    poisson: PoissonSpec | None = None
    bursts: BurstsSpec | None = None
    closed: ClosedSpec | None = None
    file: str = ""
    """A CSV file with a column time, and possibly one named duration; if empty, annotations of the pod apply."""
    from_: Time = msgspec.field(default=0, name="from")
    to: Time = None
    batch: Random = 1
    """Objects at each arrival."""
    limit: int = 0
    """Largest number of arrivals; 0 sets no limit."""


class ReplicasSpec(ScenarioPart, frozen=True, kw_only=True):
    """Replicas over time."""

    at: dict[str, int] = {}
    """Replicas by time."""
    ramp: Time = 0
    """Time that each change takes, in steps of one replica."""


class LoadSpec(ScenarioPart, frozen=True, kw_only=True):
    """A load that determines the replicas, as a HorizontalPodAutoscaler does."""

    file: str = ""
    """A CSV file with columns time and load."""
    target: float = 1.0
    """Load of one replica."""
    min: int = 1
    max: int = 1000


class RestartSpec(ScenarioPart, frozen=True, kw_only=True):
    """What an interrupted pod keeps of its work; nothing by default."""

    checkpoint: Time = None
    resume: bool = False


class ZipfSpec(ScenarioPart, frozen=True, kw_only=True):
    """Names with weights 1, 1/2^s, 1/3^s and so on."""

    names: tuple[str, ...] = ()
    s: float = 1.0


class ChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Names with weights."""

    choice: dict[str, float] = {}
    zipf: ZipfSpec | None = None


class ScenarioWorkloadSpec(ScenarioPart, frozen=True, kw_only=True):
    """A workload: one object with replicas over time, or objects that arrive."""

    name: str = ""
    manifest: str = ""
    """A file. `$n` is the number of the arrival and `$at` its time in seconds."""
    template: dict[str, Any] = {}
    """The object itself, in place of a file."""
    arrivals: ArrivalsSpec | None = None
    replicas: ReplicasSpec | None = None
    load: LoadSpec | None = None
    duration: Random = None
    startup: Random = 0
    restart: RestartSpec = RestartSpec()
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
    """Pods to delete."""

    selector: dict[str, str] = {}
    workload: str = ""
    share: float = 0.0
    count: int = 0


class RollSpec(ScenarioPart, frozen=True, kw_only=True):
    """A rolling update of a Deployment."""

    kind: str = "Deployment"
    name: str = ""
    namespace: str = "default"
    max_unavailable: Any = msgspec.field(default="25%", name="maxUnavailable")
    max_surge: Any = msgspec.field(default="25%", name="maxSurge")


class ChurnSpec(ScenarioPart, frozen=True, kw_only=True):
    """Changes of pods that the scheduler did not cause."""

    at: Time = None
    every: Time = None
    from_: Time = msgspec.field(default=0, name="from")
    to: Time = None
    delete: DeletionSpec | None = None
    roll: RollSpec | None = None


class NodeChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Nodes by pool, zone, name or labels; all conditions must hold."""

    pool: str = ""
    zone: str = ""
    name: str = ""
    selector: dict[str, str] = {}
    count: int = 0
    """Only so many of them, drawn at random; 0: all."""


class PodChoiceSpec(ScenarioPart, frozen=True, kw_only=True):
    """Pods by workload."""

    workload: str = ""


class FailureSpec(ScenarioPart, frozen=True, kw_only=True):
    """Failures of nodes, pods or requests."""

    nodes: NodeChoiceSpec | None = None
    kind: str = "fail"
    """Of nodes: fail, drain, vanish, spot or degrade."""
    at: Time = None
    for_: Time = msgspec.field(default=None, name="for")
    """Time until the nodes are back."""
    mtbf: Time = None
    """Mean time between failures of each node."""
    mttr: Random = None
    """Time until a failed node is back."""
    hazard: Rate = None
    """Failures of each node per time."""
    notice: Time = 120
    """Of spot: time between the notice and the end of the node."""
    share: float = 0.5
    """Of degrade: the share of allocatable resources that is left."""
    pods: PodChoiceSpec | None = None
    fail: float = 0.0
    """Of pods: probability that a pod fails."""
    requests: str = ""
    """Requests that fail: bind or all."""
    lose: float = 0.0
    """Probability that a request is lost."""
    lose_answer: float = msgspec.field(default=0.0, name="loseAnswer")
    conflict: float = 0.0
    """Probability that a binding fails with a conflict."""


class GroupSpec(ScenarioPart, frozen=True, kw_only=True):
    """A pool that the autoscaler changes."""

    pool: str = ""
    min: int = 0
    max: int = 1000
    priority: int = 0
    """For the expander `priority`."""


def _flag(name: str, default: Any) -> Any:
    return msgspec.field(default=default, name=name)


class AutoscalerSpec(ScenarioPart, frozen=True, kw_only=True):
    """A model of cluster-autoscaler or Karpenter, with the names and defaults of their settings."""

    kind: str = "cluster-autoscaler"
    groups: tuple[GroupSpec, ...] = ()
    expander: str = "least-waste"
    scan_interval: Time = _flag("scan-interval", "10s")
    new_pod_scale_up_delay: Time = _flag("new-pod-scale-up-delay", 0)
    scale_down_enabled: bool = _flag("scale-down-enabled", True)
    scale_down_unneeded_time: Time = _flag("scale-down-unneeded-time", "10m")
    scale_down_delay_after_add: Time = _flag("scale-down-delay-after-add", "10m")
    scale_down_utilization_threshold: float = _flag("scale-down-utilization-threshold", 0.5)
    max_node_provision_time: Time = _flag("max-node-provision-time", "15m")
    batch_idle_duration: Time = _flag("batch-idle-duration", "1s")
    batch_max_duration: Time = _flag("batch-max-duration", "10s")
    consolidation_policy: str = _flag("consolidationPolicy", "WhenEmptyOrUnderutilized")
    consolidate_after: Time = _flag("consolidateAfter", 0)
    budget: float = 0.1
    """Share of the nodes that consolidation may disrupt at once."""
    expire_after: Time = _flag("expireAfter", None)


class LowNodeUtilizationSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions from overutilized nodes while there are underutilized ones. Requests are compared, in percent of
    allocatable by resource: cpu, memory, pods, ephemeral-storage or an extended resource."""

    thresholds: dict[str, float] = {}
    """A node that exceeds none of these is underutilized."""
    target_thresholds: dict[str, float] = msgspec.field(default={}, name="targetThresholds")
    """A node that exceeds one of these is overutilized, and pods are evicted until it does not."""
    number_of_nodes: int = msgspec.field(default=0, name="numberOfNodes")
    """Nothing is evicted unless more nodes than this are underutilized."""


class HighNodeUtilizationSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions from underutilized nodes, for schedulers that pack pods (MostAllocated)."""

    thresholds: dict[str, float] = {}
    """A node that exceeds none of these percentages is underutilized."""
    number_of_nodes: int = msgspec.field(default=0, name="numberOfNodes")
    """Nothing is evicted unless more nodes than this are underutilized."""


class PodLifeTimeSpec(ScenarioPart, frozen=True, kw_only=True):
    """Evictions of old pods."""

    max_seconds: Time = msgspec.field(default=None, name="maxPodLifeTimeSeconds")
    """Pods that are older are evicted, the oldest first."""


class DeschedulerSpec(ScenarioPart, frozen=True, kw_only=True):
    """A model of the descheduler, with the names of its strategies and limits."""

    every: Time = "5m"
    """Time between runs; the first is this long after `from`."""
    from_: Time = msgspec.field(default=0, name="from")
    to: Time = None
    low: LowNodeUtilizationSpec | None = msgspec.field(default=None, name="LowNodeUtilization")
    high: HighNodeUtilizationSpec | None = msgspec.field(default=None, name="HighNodeUtilization")
    age: PodLifeTimeSpec | None = msgspec.field(default=None, name="PodLifeTime")
    max_per_node: int | None = msgspec.field(default=None, name="maxNoOfPodsToEvictPerNode")
    """Largest number of evictions from a node in a run."""
    max_total: int | None = msgspec.field(default=None, name="maxNoOfPodsToEvictTotal")
    """Largest number of evictions of a run."""


class RecordSpec(ScenarioPart, frozen=True, kw_only=True):
    """What is recorded; does not change the run."""

    every: Time = None
    """Interval of samples; by default a minute, and in runs of more than two days the shortest of 5 minutes, 15 minutes
    and an hour that gives at most 3,000 samples."""
    from_: Time = msgspec.field(default=0, name="from")
    """Warm-up: pods submitted before do not count, and means begin here."""
    events: bool = True
    attempts: bool = False
    """Whether there is a table of all scheduling attempts, with scores."""
    slo: dict[str, Time] = {}
    """Bounds of the metrics `slo.wait` and `slo.jct`."""


class ExpectSpec(ScenarioPart, frozen=True, kw_only=True):
    """An expectation: a metric within bounds, or a state of pods at a moment."""

    metric: str = ""
    where: dict[str, str] = {}
    """Of metrics of pods and jobs: only those of this workload, tenant or priority."""
    over: tuple[Time, ...] = ()
    """Of cost, nodes, pending, running, utilisation: the window [from, to] in place of the whole run."""
    at: Any = None
    """A time, or `end`; of pods, and of the same metrics without cost."""
    below: Any = None
    above: Any = None
    equals: Any = None
    pods: dict[str, str] = {}
    """Pods by labels; `name` is the name."""
    all: str = ""
    """The state of all these pods: running, or pending."""
    spread: str = ""
    """A topology key."""
    skew: int = 1
    on: dict[str, str] = {}
    """Labels of the nodes of all these pods; `zone` and `pool` are short."""
    compare: str = ""
    """The folder of an earlier result."""
    worse: str = ""
    """How much worse than that the metric may be, such as 5%."""


class ScenarioSpec(ScenarioPart, frozen=True, kw_only=True):
    """A Scenario document."""

    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    metadata: ScenarioMetadata = ScenarioMetadata()
    seed: int = 0
    start: str = "2026-01-01T00:00:00Z"
    until: UntilSpec = UntilSpec()
    config: str = ""
    """A KubeSchedulerConfiguration file."""
    plugins: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    """Files and folders that are applied at the start."""
    grace: Time = 0
    """Time that a deleted pod takes to terminate."""
    ttl: Time = 0
    """Time after which finished pods and Jobs are removed."""
    cycle: Time = 0
    """Simulated time that each scheduling attempt takes."""
    ties: str = "noise"
    """Which of equally good nodes is chosen: `noise`, by random numbers that the seed determines, or `name`."""
    nodes: NodesSpec = NodesSpec()
    workloads: tuple[ScenarioWorkloadSpec, ...] = ()
    churn: tuple[ChurnSpec, ...] = ()
    failures: tuple[FailureSpec, ...] = ()
    autoscaler: AutoscalerSpec | None = None
    descheduler: DeschedulerSpec | None = None
    record: RecordSpec = RecordSpec()
    expect: tuple[ExpectSpec, ...] = ()
