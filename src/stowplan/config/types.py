"""KubeSchedulerConfiguration v1 (kubescheduler.config.k8s.io/v1), with defaults filled in.

Upstream: k8s.io/kube-scheduler/config/v1/types.go
"""

from typing import Annotated, Any, TypeAlias

import msgspec

from stowplan.api.meta import Int32, Int64
from stowplan.config.duration import Duration
from stowplan.config.releases import LATEST, Release

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

NonEmpty: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
"""Optional, but not empty if given."""
Float32: TypeAlias = Annotated[float, msgspec.Meta(ge=-3.4028234663852886e38, le=3.4028234663852886e38)]


class Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of all structs here: unknown fields are errors. Every field has a default, so `{}` always decodes."""


class LeaderElection(Strict, frozen=True, kw_only=True):
    """Leader election among replicas. Zero durations and empty names mean the default."""

    leader_elect: bool = True
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(Strict, frozen=True, kw_only=True):
    """Connection to the API server. Zero rates and an empty content type mean the default."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: Float32 = 50.0
    burst: Int32 = 100


class Plugin(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin's name and weight. Only score points read the weight; 0 means 1."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Plugins enabled and disabled at one point; "*" disables all defaults."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin set for each extension point, and `multiPoint` for all of them."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set of a point, by its name in `stowplan.framework.points`."""
        plugin_set: PluginSet = getattr(self, PLUGINS_ATTRIBUTES[point])
        return plugin_set


PLUGINS_ATTRIBUTES = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}
"""Configuration name of each plugin set (`preFilter`, `multiPoint`) to the attribute of `Plugins`."""


class PluginConfig(Strict, frozen=True, kw_only=True):
    """The args of one plugin: a struct of `stowplan.config.args` for an in-tree plugin, otherwise undecoded."""

    name: str = ""
    args: Any = None


class Profile(Strict, frozen=True, kw_only=True):
    """The plugins for pods with this `schedulerName`."""

    scheduler_name: NonEmpty = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()
    explain_events: bool | None = None
    """Stowplan's own: as the flag --explain-events, for this profile. kube-scheduler rejects the field."""

    def args(self, plugin: str) -> Any:
        """The configured args of a plugin; None without any."""
        return next((config.args for config in self.plugin_config if config.name == plugin), None)


class ExtenderTLSConfig(Strict, frozen=True, kw_only=True):
    """TLS settings of an extender. Data overrides the file of the same kind."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderManagedResource(Strict, frozen=True, kw_only=True):
    """An extended resource that an extender manages, and whether the scheduler's own filters ignore it."""

    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(Strict, frozen=True, kw_only=True):
    """An extender webhook. An empty verb disables the verb; a zero timeout means the default."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.of_seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(Strict, frozen=True, kw_only=True):
    """The configuration of a scheduler."""

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    """None before defaults are applied: it then follows `enable_profiling`."""
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[Profile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False

    @property
    def release(self) -> Release:
        """The release of kube-scheduler whose rules apply. Not part of the file; see `for_release`."""
        return LATEST

    def for_release(self, release: Release) -> "KubeSchedulerConfiguration":
        """The same configuration under the rules of a release; its defaults are not applied again."""
        if release is self.release:
            return self
        fields = {name: getattr(self, name) for name in KubeSchedulerConfiguration.__struct_fields__}
        return EmulatingConfiguration(**fields, release=release)


class EmulatingConfiguration(KubeSchedulerConfiguration, frozen=True, kw_only=True):
    """A configuration under the rules of an earlier release, or with other feature gates."""

    release: Release = LATEST
