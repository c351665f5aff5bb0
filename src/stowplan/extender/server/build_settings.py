"""From a configuration to the settings of a server."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any, cast

from stowplan.errors import ConfigError
from stowplan.extender.handlers import VERBS, GroupMember, OnFailure, OperatorPolicy, Verb
from stowplan.extender.server.configuration import ExtenderServerConfiguration, FailurePolicy, PluginEntry
from stowplan.extender.server.scheduler_port import Gzip
from stowplan.extender.server.settings import ExtenderSettings
from stowplan.framework import Handle, Plugin
from stowplan.serving import ServingOptions

Factory = Callable[[Any, Handle], Plugin]
Load = Callable[[str], Factory]
"""Finds a plugin by `package.module:Class` or `./file.py:Class`. Raises PluginError."""


def assemble(config: ExtenderServerConfiguration, load: Load) -> ExtenderSettings:
    """Load the plugins and put everything in its place. Raises StowplanError for what cannot be."""
    serving, monitoring, cluster = config.serving, config.monitoring, config.cluster
    lease = cluster.leader_election
    return ExtenderSettings(
        members=members_of(config.plugins, load),
        policy=_policy(config),
        serving=ServingOptions(
            address=_address(serving.bind_address, "bindAddress"),
            port=serving.port,
            certificate_file=serving.tls.cert_file,
            key_file=serving.tls.key_file,
        ),
        client_ca_file=serving.tls.client_ca_file,
        allowed_names=serving.tls.allowed_names,
        url_prefix=serving.url_prefix,
        verbs={verb: name for verb in VERBS if (name := getattr(config.verbs, verb)) != verb},
        largest_body=serving.max_body_bytes,
        gzip=cast(Gzip, serving.gzip),
        metrics_address=_address(monitoring.bind_address or serving.bind_address, "monitoring.bindAddress"),
        metrics_port=monitoring.port,
        kubeconfig=cluster.kubeconfig,
        in_cluster=cluster.in_cluster,
        lease=lease if lease.leader_elect else None,
        decisions_kept=monitoring.decisions,
        decision_log=monitoring.decision_log,
        log_requests=monitoring.log_requests,
        record=monitoring.record,
        keep_annotations=monitoring.keep_annotations,
        drain_seconds=serving.drain.seconds,
    )


def members_of(entries: tuple[PluginEntry, ...], load: Load) -> tuple[GroupMember, ...]:
    return tuple(
        GroupMember(load(entry.plugin), name=entry.name, args=entry.args, weight=entry.weight, selector=entry.selector)
        for entry in entries
    )


def _policy(config: ExtenderServerConfiguration) -> OperatorPolicy:
    chosen = {
        cast(Verb, verb): cast(OnFailure, getattr(config.failure_policy, verb))
        for verb in FailurePolicy.__struct_fields__
    }
    return OperatorPolicy(
        on_failure=chosen,
        http_timeout=config.http_timeout.seconds,
        shadow=config.shadow,
        own_pods=config.own_pods,
        spare_critical=config.spare_critical,
        lower_case=config.lower_case_replies,
        bare_names=config.bare_names,
    )


def _address(text: str, field: str) -> str:
    if text == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise ConfigError(f"{field}: {text!r} is not an IP address") from error
