"""From a command line, and the files that it names, to the options of a scheduler."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from stowplan.config import (
    Duration,
    InvalidConfigurationError,
    KubeSchedulerConfiguration,
    Loaded,
    default_configuration,
    read,
)
from stowplan.config.conversion import InsecureServing, PolicySource
from stowplan.config.errors import Problems
from stowplan.config.extender_limits import ExtenderLimits
from stowplan.config.feature_gates import parse_gates
from stowplan.config.files import read_file, read_policy_file
from stowplan.config.flags import deprecated_flags
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.flags.option_groups import (
    access_options,
    check_versions,
    log_options,
    metric_options,
    serving_options,
)
from stowplan.config.options import Options
from stowplan.config.validation import validate
from stowplan.errors import ConfigError
from stowplan.framework.extender import EXTENDER_VERBS, ExtenderVerb

KnownPlugins = Callable[[tuple[str, ...]], Collection[str]]
"""Given the values of --plugin, the names of all plugins that a configuration may use."""

PolicyReader = Callable[[PolicySource], str | bytes]
"""Returns the text of the Policy that a configuration refers to."""

S = TypeVar("S", bound=msgspec.Struct)

_LEADER_ELECTION = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
    "leader-elect-retry-period": "retry_period",
}
_CONNECTION = {
    "kube-api-burst": "burst",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kubeconfig": "kubeconfig",
}
_PROFILING = {"contention-profiling": "enable_contention_profiling", "profiling": "enable_profiling"}


def parse(
    arguments: Iterable[str],
    known_plugins: KnownPlugins | None = None,
    env: Mapping[str, str] = os.environ,
    policies: Callable[[str, str], PolicyReader] | None = None,
) -> Options:
    """The options; a ConfigError says in one line what is wrong with them, or in a line each what with the file.

    Without `known_plugins` any name of a plugin passes. `policies` makes a reader of policies from --kubeconfig and
    --master; without it a policy can only be a file.
    """
    line = CommandLine(arguments)
    asked = "help" if line["help"] else {"false": "", "true": "version"}.get(line["version"], line["version"])
    if asked:
        return Options(config=default_configuration(), asked=asked)
    line.check_refused()
    gates = parse_gates(line["feature-gates"])
    check_versions(line)
    logs = log_options(line, gates)
    serving, access, metrics = serving_options(line), access_options(line), metric_options(line)
    read_policy = policies(line["kubeconfig"], line["master"]) if policies else read_policy_file
    effective = _configuration(line, known_plugins, env, read_policy)
    return Options(
        config=effective.config,
        master=line["master"],
        write_config_to=line["write-config-to"],
        serving=serving,
        plain_http=deprecated_flags.plain_http(line, effective.plain_http),
        access=access,
        metrics=metrics,
        logs=logs,
        unschedulable_timeout=line["pod-max-in-unschedulable-pods-duration"].seconds,
        plugins=line["plugin"],
        plugin_call_timeout=_call_timeout(line),
        patience=_patience(line),
        gates=gates,
        flags=line.shown(),
        warnings=effective.warnings,
    )


def _call_timeout(line: CommandLine) -> float:
    timeout: Duration = line["plugin-call-timeout"]
    if timeout <= Duration():
        raise ConfigError(f"--plugin-call-timeout {timeout} must be greater than zero")
    return timeout.seconds


def _patience(line: CommandLine) -> ExtenderLimits:
    timeouts: dict[ExtenderVerb, float] = {}
    for verb, text in line["extender-timeouts"]:
        try:
            seconds = Duration.parse(text).seconds
        except ValueError as problem:
            raise ConfigError(f"--extender-timeouts {verb}={text}: {problem}") from problem
        if verb not in EXTENDER_VERBS or seconds <= 0:
            raise ConfigError(f"--extender-timeouts {verb}={text}: give {', '.join(EXTENDER_VERBS)} a time above zero")
        timeouts[verb] = seconds
    hedge_after: Duration = line["extender-hedge-after"]
    if hedge_after < Duration():
        raise ConfigError(f"--extender-hedge-after {hedge_after} must not be below zero")
    return ExtenderLimits(timeouts, hedge_after.seconds)


class _Effective(NamedTuple):
    config: KubeSchedulerConfiguration
    warnings: tuple[str, ...] = ()
    plain_http: InsecureServing = InsecureServing()


def _configuration(
    line: CommandLine, known_plugins: KnownPlugins | None, env: Mapping[str, str], read_policy: PolicyReader
) -> _Effective:
    """The effective configuration.

    Flags about leader election win over the file; the deprecated ones count only where there is no file.
    """
    file: str = line["config"]
    loaded = _load(line, known_plugins, read_policy)
    config = default_configuration() if loaded is None else loaded.config
    ignored: set[str] = set()
    if file:
        ignored = line.given.intersection(
            (*_CONNECTION, *_PROFILING, *deprecated_flags.ALGORITHM, *deprecated_flags.LOCKS)
        )
        if "kubeconfig" in ignored and _lacks_cluster(config, env):
            ignored.remove("kubeconfig")
            config = _connect(config, line, {"kubeconfig": "kubeconfig"})
    else:
        config = _changed(_connect(config, line, _CONNECTION), line, _PROFILING)
        config = msgspec.structs.replace(
            config, leader_election=_changed(config.leader_election, line, deprecated_flags.LOCKS)
        )
    election, remarks = deprecated_flags.with_lease(_changed(config.leader_election, line, _LEADER_ELECTION))
    config = msgspec.structs.replace(config, leader_election=election)
    problems = Problems()
    validate(config, problems)
    if problems.errors:
        raise InvalidConfigurationError(file or "flags", problems.errors)
    warnings = [f"--{name} is ignored: the configuration file decides" for name in sorted(ignored)]
    warnings += [*line.deprecations(ignored), *remarks]
    if loaded is None:
        return _Effective(config, tuple(warnings))
    converted = loaded.converted
    return _Effective(config, (*warnings, *map(str, converted.notices)), converted.plain_http)


def _load(line: CommandLine, known_plugins: KnownPlugins | None, read_policy: PolicyReader) -> Loaded | None:
    """The configuration of the file, or of flags that once stood for one; None where there is neither."""
    file: str = line["config"]
    document = None if file else deprecated_flags.document(line)
    if not file and document is None:
        return None
    text = read_file(file) if file else msgspec.json.encode(document)
    known = None if known_plugins is None else known_plugins(line["plugin"])
    return read(text, file or "flags", known, read_policy)


def _lacks_cluster(config: KubeSchedulerConfiguration, env: Mapping[str, str]) -> bool:
    """A file that names no kubeconfig means the cluster that we run in. Outside of any it would mean nothing at all,
    and kube-scheduler would not start: there the flag does no harm."""
    return not config.client_connection.kubeconfig and not env.get("KUBERNETES_SERVICE_HOST")


def _connect(
    config: KubeSchedulerConfiguration, line: CommandLine, fields: Mapping[str, str]
) -> KubeSchedulerConfiguration:
    connection = _changed(config.client_connection, line, fields)
    return msgspec.structs.replace(config, client_connection=connection)


def _changed(struct: S, line: CommandLine, fields: Mapping[str, str]) -> S:
    """With the values of the flags that were given."""
    return msgspec.structs.replace(struct, **{fields[name]: line[name] for name in line.given.intersection(fields)})
