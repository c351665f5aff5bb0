"""Types of configuration versions before v1, for strict decoding.

Upstream: k8s.io/kube-scheduler/config/v1beta1, v1beta2, v1beta3 and v1 (Policy) of earlier releases
"""

from typing import Any

from stowplan.api.meta import Int32, Int64
from stowplan.config.args import ResourceSpec, UtilizationShapePoint
from stowplan.config.types import ClientConnection, Extender, LeaderElection, PluginConfig, Plugins, PluginSet, Strict


class OldLeaderElection(LeaderElection, frozen=True, kw_only=True):
    """With the first names of the lock object."""

    lock_object_name: str = ""
    lock_object_namespace: str = ""


class OldPlugins(Plugins, frozen=True, kw_only=True):
    """With removed extension points."""

    unreserve: PluginSet = PluginSet()
    normalize_score: PluginSet = PluginSet()


class OldProfile(Strict, frozen=True, kw_only=True):
    """The plugins for pods with this `schedulerName`."""

    scheduler_name: str = ""
    plugins: OldPlugins = OldPlugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class _Common(Strict, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    leader_election: OldLeaderElection = OldLeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10


class V1Beta3(_Common, frozen=True, kw_only=True):
    """kubescheduler.config.k8s.io/v1beta3."""

    parallelism: Int32 = 16
    profiles: tuple[OldProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()


class V1Beta2(V1Beta3, frozen=True, kw_only=True):
    """kubescheduler.config.k8s.io/v1beta2, and v1beta1, which has the same fields."""

    healthz_bind_address: str = ""
    metrics_bind_address: str = ""


class V1Alpha2(_Common, frozen=True, kw_only=True):
    """kubescheduler.config.k8s.io/v1alpha2. Its extenders are those of a Policy."""

    healthz_bind_address: str = ""
    metrics_bind_address: str = ""
    disable_preemption: bool = False
    bind_timeout_seconds: Int64 = 600
    profiles: tuple[OldProfile, ...] = ()
    extenders: tuple[Any, ...] = ()


class PolicyFile(Strict, frozen=True, kw_only=True):
    """A policy file."""

    path: str = ""


class PolicyConfigMap(Strict, frozen=True, kw_only=True):
    """A policy under the key `policy.cfg` of a ConfigMap."""

    namespace: str = ""
    name: str = ""


class PolicyLocation(Strict, frozen=True, kw_only=True):
    """A policy file or ConfigMap."""

    file: PolicyFile | None = None
    config_map: PolicyConfigMap | None = None


class AlgorithmSource(Strict, frozen=True, kw_only=True):
    """Source of predicates and priorities."""

    policy: PolicyLocation | None = None
    provider: str = ""


class V1Alpha1(_Common, frozen=True, kw_only=True):
    """kubescheduler.config.k8s.io/v1alpha1, and componentconfig/v1alpha1 before it."""

    scheduler_name: str = ""
    algorithm_source: AlgorithmSource = AlgorithmSource()
    hard_pod_affinity_symmetric_weight: Int32 = 1
    failure_domains: str = ""
    healthz_bind_address: str = ""
    metrics_bind_address: str = ""
    disable_preemption: bool = False
    bind_timeout_seconds: Int64 = 600
    plugins: OldPlugins = OldPlugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class LabelsArgument(Strict, frozen=True, kw_only=True):
    """Labels of ServiceAffinity or LabelsPresence."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class LabelArgument(Strict, frozen=True, kw_only=True):
    """Label of ServiceAntiAffinity or LabelPreference."""

    label: str = ""
    presence: bool = False


class RatioArgument(Strict, frozen=True, kw_only=True):
    """Arguments of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PredicateArgument(Strict, frozen=True, kw_only=True):
    """Argument of a custom predicate; one field is set."""

    service_affinity: LabelsArgument | None = None
    labels_presence: LabelsArgument | None = None


class PriorityArgument(Strict, frozen=True, kw_only=True):
    """Argument of a custom priority; one field is set."""

    service_anti_affinity: LabelArgument | None = None
    label_preference: LabelArgument | None = None
    requested_to_capacity_ratio_arguments: RatioArgument | None = None


class Predicate(Strict, frozen=True, kw_only=True):
    """A predicate."""

    name: str = ""
    argument: PredicateArgument | None = None


class Priority(Strict, frozen=True, kw_only=True):
    """A priority function."""

    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class Policy(Strict, frozen=True, kw_only=True):
    """Policy v1. Absent predicates mean the default ones; an empty list means none."""

    api_version: str = ""
    kind: str = ""
    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[Any, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False
