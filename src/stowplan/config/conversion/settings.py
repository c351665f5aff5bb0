"""Converts settings other than plugins."""

from collections.abc import Mapping
from typing import Any

from stowplan.config.conversion.api_versions import ApiVersion
from stowplan.config.conversion.insecure_addresses import InsecureAddress, InsecureServing, parse_address
from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.profiles import ProfileChanges
from stowplan.config.conversion.sources import PolicySource
from stowplan.config.errors import Problems

DEFAULT_PROVIDER = "DefaultProvider"
AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

_SAME = (
    "parallelism",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
)
_LEASES = "leases"
_LOCKS = {"lockObjectName": "resourceName", "lockObjectNamespace": "resourceNamespace"}


def convert_settings(value: Mapping[str, Any], notices: Notices) -> dict[str, Any]:
    """The settings as v1."""
    settings = {name: value[name] for name in _SAME if name in value}
    if "leaderElection" in value:
        settings["leaderElection"] = _leader_election(value["leaderElection"], "$.leaderElection", notices)
    if "failureDomains" in value:
        notices.add("$.failureDomains", "has no effect: the topology keys of pods name their domains")
    return settings


def _leader_election(given: Mapping[str, Any], path: str, notices: Notices) -> dict[str, Any]:
    election = {_LOCKS.get(name, name): item for name, item in given.items() if name in _LOCKS}
    election |= {name: item for name, item in given.items() if name not in _LOCKS}
    lock = election.get("resourceLock") or _LEASES
    if lock != _LEASES:
        text = f"a Lease is locked, not {lock}: a scheduler that still locks {lock} would not notice this one"
        notices.add(f"{path}.resourceLock", text)
        election["resourceLock"] = _LEASES
    return election


def profile_settings(value: Mapping[str, Any]) -> ProfileChanges:
    """Plugin settings that were outside of profiles."""
    args: dict[str, dict[str, Any]] = {}
    if "hardPodAffinitySymmetricWeight" in value:
        args["InterPodAffinity"] = {"hardPodAffinityWeight": value["hardPodAffinitySymmetricWeight"]}
    if "bindTimeoutSeconds" in value:
        args["VolumeBinding"] = {"bindTimeoutSeconds": value["bindTimeoutSeconds"]}
    return ProfileChanges(
        args=args,
        preempts=not value.get("disablePreemption"),
        packs=value.get("algorithmSource", {}).get("provider") == AUTOSCALER_PROVIDER,
    )


def policy_source(value: Mapping[str, Any], problems: Problems) -> PolicySource | None:
    """The source of the Policy, if the configuration has one."""
    path, given = "$.algorithmSource", value.get("algorithmSource", {})
    provider, policy = given.get("provider"), given.get("policy")
    if provider and provider not in (choices := (DEFAULT_PROVIDER, AUTOSCALER_PROVIDER)):
        problems.unsupported(f"{path}.provider", provider, choices)
    if policy is None:
        return None
    if provider:
        problems.invalid(path, provider, "provider and policy exclude one another")
    kubeconfig = value.get("clientConnection", {}).get("kubeconfig", "")
    if file := policy.get("file", {}).get("path"):
        return PolicySource(file=file)
    if name := policy.get("configMap", {}).get("name"):
        return PolicySource(
            namespace=policy["configMap"].get("namespace") or "kube-system", name=name, kubeconfig=kubeconfig
        )
    problems.required(f"{path}.policy", "file.path or configMap.name must be given")
    return None


def plain_http(value: Mapping[str, Any], version: ApiVersion, notices: Notices, problems: Problems) -> InsecureServing:
    """Addresses of health and metrics pages without TLS."""
    default = InsecureAddress() if version.plain_http else None
    found: dict[str, InsecureAddress | None] = {}
    for field in ("healthzBindAddress", "metricsBindAddress"):
        text = value.get(field)
        try:
            found[field] = parse_address(text) if text else default
        except ValueError as error:
            found[field] = default
            if version.plain_http:
                notices.add(f"$.{field}", f"{error}; {default} is served instead, as in releases of this version")
            else:
                problems.invalid(f"$.{field}", text, str(error))
    explicit = any(value.get(field) for field in found)
    return InsecureServing(found["healthzBindAddress"], found["metricsBindAddress"], explicit)
