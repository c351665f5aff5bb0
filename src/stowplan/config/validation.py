"""Validation of a whole configuration; plugin args are validated in `args`.

Upstream: pkg/scheduler/apis/config/validation/validation.go
"""

from collections.abc import Collection

from stowplan.api.names import label_key_errors
from stowplan.config.args import PluginArgs
from stowplan.config.defaults import ALPHA_PLUGINS, REMOVED_PLUGINS
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.strict_decoding import suggestion
from stowplan.config.types import (
    PLUGINS_ATTRIBUTES,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginSet,
    Profile,
)


def check_plugin_names(
    config: KubeSchedulerConfiguration, known: Collection[str] | None, problems: Problems, release: Release = LATEST
) -> None:
    """Check the enabled names before defaults are applied, which would shift their index.

    Names in `disabled` and `pluginConfig` are arbitrary, as in kube-scheduler, except removed plugins in the latter.
    `known` None accepts any name that was not removed.
    """
    if known is not None:
        gated = (name for name, gate in ALPHA_PLUGINS.items() if release.has(gate))
        known = release.idle_plugins.union(known, gated).difference(release.later_plugins)
    for index, profile in enumerate(config.profiles):
        path = f"$.profiles[{index}]"
        for point in PLUGINS_ATTRIBUTES:
            if point in release.later_points and profile.plugins.at(point) != PluginSet():
                problems.add(f"{path}.plugins.{point}", "unknown field")
            for position, plugin in enumerate(profile.plugins.at(point).enabled):
                _check_name(plugin.name, known, f"{path}.plugins.{point}.enabled[{position}].name", problems)
        for position, plugin_config in enumerate(profile.plugin_config):
            if plugin_config.name in REMOVED_PLUGINS:
                _check_name(plugin_config.name, known, f"{path}.pluginConfig[{position}].name", problems)


def _check_name(name: str, known: Collection[str] | None, path: str, problems: Problems) -> None:
    if not name:
        problems.required(path)
    elif name in REMOVED_PLUGINS:
        problems.add(path, f'plugin "{name}" was removed from Kubernetes; NodeVolumeLimits counts those volumes now')
    elif known is None or name in known:
        return
    elif name in ALPHA_PLUGINS:
        problems.add(path, f'unknown plugin "{name}" (alpha, its feature gate {ALPHA_PLUGINS[name]} is off)')
    else:
        problems.add(path, f'unknown plugin "{name}"{suggestion(name, known)}')


def validate(config: KubeSchedulerConfiguration, problems: Problems) -> None:
    """Validate a configuration with defaults."""
    _check_client_connection(config.client_connection, "$.clientConnection", problems)
    _check_leader_election(config.leader_election, "$.leaderElection", problems)
    if config.parallelism <= 0:
        problems.invalid("$.parallelism", config.parallelism, "should be an integer value greater than zero")
    _check_profiles(config.profiles, problems, config.release)
    _check_percentage(config.percentage_of_nodes_to_score, "$.percentageOfNodesToScore", problems)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        problems.invalid("$.podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.invalid("$.podMaxBackoffSeconds", longest, detail)
    _check_extenders(config.extenders, "$.extenders", problems)


def _check_client_connection(client: ClientConnection, path: str, problems: Problems) -> None:
    if client.burst < 0:
        problems.invalid(f"{path}.burst", client.burst, "must be non-negative")


def _check_leader_election(election: LeaderElection, path: str, problems: Problems) -> None:
    if not election.leader_elect:
        return
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for field, duration in durations.items():
        if duration.nanoseconds <= 0:
            problems.invalid(f"{path}.{field}", duration, "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        problems.invalid(f"{path}.leaseDuration", election.lease_duration, "must be greater than `RenewDeadline`")
    if election.resource_lock != "leases":
        problems.invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _check_percentage(percentage: int | None, path: str, problems: Problems) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        problems.invalid(path, percentage, "not in valid range [0-100]")


def _check_profiles(profiles: tuple[Profile, ...], problems: Problems, release: Release) -> None:
    names: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"$.profiles[{index}]"
        if not profile.scheduler_name:
            problems.required(f"{path}.schedulerName")
        elif profile.scheduler_name in names:
            problems.duplicate(f"{path}.schedulerName", profile.scheduler_name)
        names.add(profile.scheduler_name)
        _check_percentage(profile.percentage_of_nodes_to_score, f"{path}.percentageOfNodesToScore", problems)
        _check_plugin_config(profile, path, problems, release)
    _check_common_queue_sort(profiles, problems)


def _check_plugin_config(profile: Profile, path: str, problems: Problems, release: Release) -> None:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        config_path = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            problems.duplicate(config_path, config.name)
        seen.add(config.name)
        if isinstance(config.args, PluginArgs):
            config.args.check(f"{config_path}.args", problems, release)


def _check_common_queue_sort(profiles: tuple[Profile, ...], problems: Problems) -> None:
    """All profiles share one queue, so they must have the same QueueSort plugin."""
    common = profiles[0].plugins.queue_sort
    if len(common.enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        problems.invalid("$.profiles[0].plugins.queueSort.enabled", len(common.enabled), detail)
    name = common.enabled[0].name if common.enabled else None
    common_args = profiles[0].args(name) if name else None
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != common:
            path = f"$.profiles[{index}].plugins.queueSort"
            problems.invalid(path, profile.plugins.queue_sort, "must be the same for all profiles")
        for position, config in enumerate(profile.plugin_config):
            if config.name == name and config.args != common_args:
                path = f"$.profiles[{index}].pluginConfig[{position}].args"
                problems.invalid(path, config.args, "queueSort must be the same for all profiles")


def _check_extenders(extenders: tuple[Extender, ...], path: str, problems: Problems) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            problems.invalid(f"{path}[{index}].weight", extender.weight, detail)
        for position, resource in enumerate(extender.managed_resources):
            _check_managed(resource.name, managed, f"{path}[{index}].managedResources[{position}].name", problems)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        problems.invalid(path, f"found {binders} extenders implementing bind", "only one extender can implement bind")


def _check_managed(name: str, seen: set[str], path: str, problems: Problems) -> None:
    errors = label_key_errors(name)
    for error in errors:
        problems.invalid(path, name, error)
    if not errors and not _is_extended_resource(name):
        problems.invalid(path, name, "is an invalid extended resource name")
    if name in seen:
        problems.invalid(path, name, "duplicate extender managed resource name")
    seen.add(name)


def _is_extended_resource(name: str) -> bool:
    """Whether a name is an extended resource: outside of kubernetes.io and valid in a quota."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")
