"""Options from a command line and the files that it names.

Upstream: cmd/kube-scheduler/app/options/options.go
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import msgspec

from stowplan.config import (
    InvalidConfigurationError,
    KubeSchedulerConfiguration,
    Loaded,
    default_configuration,
    read,
)
from stowplan.config.conversion import InsecureServing, PolicySource
from stowplan.config.errors import Problems
from stowplan.config.feature_gates import COSCHEDULING_GATES, group_differences, parse_gates
from stowplan.config.files import read_file, read_policy_file
from stowplan.config.flags import deprecated_flags
from stowplan.config.flags.checks import check_options, emulated_release, metric_options
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.flags.table import EARLIER, FLAGS
from stowplan.config.options import Options, with_fields
from stowplan.config.releases import LATEST, Release
from stowplan.config.validation import validate

KnownPlugins = Callable[[tuple[str, ...]], Collection[str]]
"""Given the values of --plugin, the names of all plugins that a configuration may use."""

PolicyReader = Callable[[PolicySource], str | bytes]
"""Returns the text of the Policy that a configuration refers to."""


def parse(
    arguments: Iterable[str],
    known_plugins: KnownPlugins | None = None,
    env: Mapping[str, str] = os.environ,
    policies: Callable[[str, str], PolicyReader] | None = None,
    release: Release = LATEST,
) -> Options:
    """The options of a command line. Raises ConfigError with one line for a flag, one line per error of the file.

    Without `known_plugins` every plugin name is accepted. `policies` makes a reader of policies from --kubeconfig and
    --master; without it a policy can only be a file. `release` is the release without --emulated-version.
    """
    line = CommandLine(arguments)
    output = "help" if line["help"] else {"false": "", "true": "version"}.get(line["version"], line["version"])
    if output:
        return Options(config=default_configuration(), print_and_exit=output)
    line.check_refused()
    release = emulated_release(line, release)
    gates = parse_gates(line["feature-gates"], release)
    release = release.with_gates(gates)
    if line["coscheduling"]:
        release = release.with_gates(COSCHEDULING_GATES)
    release = release.with_gates(group_differences(line["kube-scheduler-group-behavior"]))
    options = Options(
        config=default_configuration(release),
        emulates=bool(line["emulated-version"]),
        gates=gates,
        flags=line.shown(),
    )
    options = _filled(options, line, line.given)
    check_options(line, options)
    options = replace(options, metrics=metric_options(line, options.metrics))
    read_policy = policies(line["kubeconfig"], line["master"]) if policies else read_policy_file
    return _configured(options, line, _load(line, known_plugins, read_policy, release), env)


def _filled(options: Options, line: CommandLine, names: Collection[str]) -> Options:
    """The options with the values of these flags; flags of earlier releases give way to those of today."""
    ordered = sorted((FLAGS[name] for name in names), key=lambda flag: flag.name not in EARLIER)
    values = {flag.field: flag.kind.to_option(line[flag.name]) for flag in ordered if flag.field}
    return with_fields(options, values)


def _configured(options: Options, line: CommandLine, loaded: Loaded | None, env: Mapping[str, str]) -> Options:
    """The options with the effective configuration.

    Leader election flags override the file; deprecated flags apply only without a file.
    """
    config = default_configuration(options.config.release) if loaded is None else loaded.config
    ignored: set[str] = set()
    if line["config"]:
        ignored = {name for name in line.given if FLAGS[name].unless_file}
        if _lacks_cluster(config, env):
            ignored.discard("kubeconfig")
    options = _filled(replace(options, config=config), line, line.given - ignored)
    election, notices = deprecated_flags.with_lease(options.config.leader_election)
    config = msgspec.structs.replace(options.config, leader_election=election)
    problems = Problems()
    validate(config, problems)
    if problems.errors:
        raise InvalidConfigurationError(line["config"] or "flags", problems.errors)
    warnings = [f"--{name} is ignored: the configuration file decides" for name in sorted(ignored)]
    warnings += [*line.deprecations(ignored), *notices]
    plain_http = InsecureServing()
    if loaded is not None:
        warnings += map(str, loaded.converted.notices)
        plain_http = loaded.converted.plain_http
    return replace(
        options,
        config=config,
        plain_http=deprecated_flags.plain_http(line, plain_http),
        warnings=tuple(warnings),
    )


def _load(
    line: CommandLine, known_plugins: KnownPlugins | None, read_policy: PolicyReader, release: Release
) -> Loaded | None:
    """The configuration of the file, or of the earlier flags that replaced one; None without either."""
    file: str = line["config"]
    document = None if file else deprecated_flags.document(line)
    if not file and document is None:
        return None
    text = read_file(file) if file else msgspec.json.encode(document)
    known = None if known_plugins is None else known_plugins(line["plugin"])
    return read(text, file or "flags", known, read_policy, release)


def _lacks_cluster(config: KubeSchedulerConfiguration, env: Mapping[str, str]) -> bool:
    """Whether the file names no kubeconfig and the process does not run in a cluster. kube-scheduler would not start;
    here the flag then applies."""
    return not config.client_connection.kubeconfig and not env.get("KUBERNETES_SERVICE_HOST")
