"""Flags of earlier releases, converted to configuration.

Upstream: cmd/kube-scheduler/app/options/deprecated.go
"""

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
"""Flags that were used instead of a configuration file; ignored with one."""

_SETTINGS = {"scheduler-name": "schedulerName", "hard-pod-affinity-symmetric-weight": "hardPodAffinitySymmetricWeight"}
_OTHER_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")


def document(line: CommandLine) -> dict[str, Any] | None:
    """The v1alpha1 configuration that these flags describe; None without any."""
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
    """Leader election with a Lease instead of other lock objects, and notices about it."""
    if election.resource_lock not in _OTHER_LOCKS:
        return election, []
    text = f"A Lease is locked, not {election.resource_lock}: schedulers that lock those would not notice this one"
    return msgspec.structs.replace(election, resource_lock="leases"), [text]


def plain_http(line: CommandLine, wanted: InsecureServing) -> InsecureServing:
    """Addresses without TLS: the file's, overridden by flags."""
    port = line["port"]
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port {port} must be between 0 and 65535, inclusive. 0 for turning off plain HTTP")
    if "port" in line.given:
        address = InsecureAddress(line["address"], port) if port else None
        return InsecureServing(address, address, explicit=True)
    if "address" in line.given:
        healthz, metrics = (place and place._replace(host=line["address"]) for place in wanted[:2])
        return InsecureServing(healthz, metrics, wanted.explicit)
    return wanted
