"""What the flags of earlier releases come to."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.config.conversion import InsecureAddress, InsecureServing
from stowplan.config.flags.command_line import CommandLine
from stowplan.config.types import GROUP, KIND, LeaderElection
from stowplan.errors import ConfigError

ALGORITHM = (
    "algorithm-provider",
    "hard-pod-affinity-symmetric-weight",
    "policy-config-file",
    "policy-configmap",
    "policy-configmap-namespace",
    "scheduler-name",
    "use-legacy-policy-config",
)
"""Flags that stood for a configuration file, and are ignored where there is one."""

_SETTINGS = {"scheduler-name": "schedulerName", "hard-pod-affinity-symmetric-weight": "hardPodAffinitySymmetricWeight"}
_OTHER_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")


def document(line: CommandLine) -> dict[str, Any] | None:
    """The configuration that those flags stand for, in the version of their time; None if none of them was given."""
    if not line.given.intersection(ALGORITHM):
        return None
    settings = {field: line[name] for name, field in _SETTINGS.items() if name in line.given}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": KIND, "algorithmSource": _source(line), **settings}


def _source(line: CommandLine) -> dict[str, Any]:
    file, name = line["policy-config-file"], line["policy-configmap"]
    if line["use-legacy-policy-config"] and not file:
        raise ConfigError("--use-legacy-policy-config needs --policy-config-file")
    if file and (line["use-legacy-policy-config"] or not name):
        return {"policy": {"file": {"path": file}}}
    if name:
        return {"policy": {"configMap": {"namespace": line["policy-configmap-namespace"], "name": name}}}
    return {"provider": line["algorithm-provider"]} if line["algorithm-provider"] else {}


def with_lease(election: LeaderElection) -> tuple[LeaderElection, list[str]]:
    """Leader election by a Lease, whatever else is asked for, and what to say about it."""
    if election.resource_lock not in _OTHER_LOCKS:
        return election, []
    text = f"A Lease is locked, not {election.resource_lock}: schedulers that lock those would not notice this one"
    return msgspec.structs.replace(election, resource_lock="leases"), [text]


def plain_http(line: CommandLine, wanted: InsecureServing) -> InsecureServing:
    """Where to serve without TLS: what the file says, unless a flag says otherwise."""
    port = line["port"]
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port {port} must be between 0 and 65535, inclusive. 0 for turning off plain HTTP")
    if "port" in line.given:
        address = InsecureAddress(line["address"], port) if port else None
        return InsecureServing(address, address, asked=True)
    if "address" in line.given:
        healthz, metrics = (place and place._replace(host=line["address"]) for place in wanted[:2])
        return InsecureServing(healthz, metrics, wanted.asked)
    return wanted
