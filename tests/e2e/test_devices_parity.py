"""The same devices as kube-scheduler gives, on random clusters, one pod at a time.

How many clusters: STOWPLAN_DEVICE_CLUSTERS, a few by default. `--log-cli-level=INFO` tells how it went.
"""

import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from tests.builders import HOSTNAME
from tests.e2e.conftest import StartStowplan
from tests.e2e.device_clusters import DeviceCluster
from tests.e2e.devices import CLAIM, GROUP
from tests.parity.agreement import Verdict
from tests.parity.outcome import condition_of

from stowplan.testing import ControlPlane, KubeApi, KubeScheduler, wait_until
from stowplan.testing.cleanup import clear
from stowplan.testing.objects import JsonObject

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.since("v1.36")]

log = logging.getLogger(__name__)

T = TypeVar("T")

CLUSTERS = int(os.environ.get("STOWPLAN_DEVICE_CLUSTERS", "5"))
PODS = 6
SETTLE_SECONDS = 0.3
NAMESPACE = "default"
KINDS = {
    "nodes": "Node",
    "resourceclaims": CLAIM,
    "resourceslices": f"{GROUP}/ResourceSlice",
    "deviceclasses": f"{GROUP}/DeviceClass",
}
CLEARED = ("Pod", *KINDS.values())

_RANDOM = ("allocationTimestamp", "shareID")


class Both:
    """Two API servers with the same on them: theirs, and ours."""

    def __init__(self, theirs: KubeApi, ours: KubeApi, threads: ThreadPoolExecutor) -> None:
        self.apis = (theirs, ours)
        self.ours = ours
        self._threads = threads

    def do(self, step: Callable[[KubeApi], T]) -> tuple[T, T]:
        theirs, ours = self._threads.map(step, self.apis)
        return theirs, ours

    def create(self, *objects: JsonObject) -> None:
        self.do(lambda api: [api.create(each) for each in objects])

    def clear(self) -> None:
        self.do(_clear)

    def remove(self, pod: JsonObject, claims: list[JsonObject]) -> None:
        self.do(lambda api: _remove(api, pod, claims))


def _clear(api: KubeApi) -> None:
    for kind in CLEARED:
        clear(api, kind)


def _remove(api: KubeApi, pod: JsonObject, claims: list[JsonObject]) -> None:
    """A pod, and its claims; those that it shares with others stay."""
    name, own = pod["metadata"]["name"], {each["metadata"]["name"] for each in claims}
    api.delete("Pod", name, NAMESPACE)
    for each in claims_of(api, pod):
        found = each["metadata"]["name"]
        if found in own or "ownerReferences" in each["metadata"]:
            api.patch(CLAIM, found, {"metadata": {"finalizers": None}}, NAMESPACE)
            api.delete(CLAIM, found, NAMESPACE)
        else:
            left = [user for user in each["status"]["reservedFor"] if user["name"] != name]
            api.patch(CLAIM, found, {"status": {"reservedFor": left}}, NAMESPACE, subresource="status")


def claims_of(api: KubeApi, pod: JsonObject) -> list[JsonObject]:
    """Those that a pod names, then the one that was made for its extended resources."""
    name = pod["metadata"]["name"]
    named = [api.get(CLAIM, each["resourceClaimName"], NAMESPACE) for each in pod["spec"]["resourceClaims"]]
    made = [each for each in api.list(CLAIM, NAMESPACE) if name in _owners(each)]
    return [*named, *made]


def _owners(claim: JsonObject) -> list[str]:
    return [owner["name"] for owner in claim["metadata"].get("ownerReferences", ())]


def decided(api: KubeApi, name: str) -> JsonObject:
    """The pod once its scheduler has come to a decision."""

    def look() -> JsonObject | None:
        pod = api.get("Pod", name, NAMESPACE)
        return pod if pod["spec"].get("nodeName") or condition_of(pod) else None

    return wait_until(look, every=0.02) or {}


def told(api: KubeApi, pod: JsonObject) -> JsonObject:
    """All that the scheduler wrote, but for what is different each time."""
    found = decided(api, pod["metadata"]["name"])
    if not found["spec"].get("nodeName"):
        return {"condition": _of_any_node(condition_of(found))}
    stored = claims_of(api, pod)
    return {
        "node": found["spec"]["nodeName"],
        "requests": [each["spec"] for each in stored],
        "mappings": found["status"].get("extendedResourceClaimStatus", {}).get("requestMappings"),
        "claims": [_without_random(each["status"]["allocation"]) for each in stored],
        "users": [[user["name"] for user in each["status"]["reservedFor"]] for each in stored],
        "finalizers": [each["metadata"].get("finalizers") for each in stored],
    }


def _of_any_node(condition: Mapping[str, object] | None) -> JsonObject:
    """Where a claim is in error on several nodes, which of the errors is told is a matter of who was asked first."""
    told = dict(condition or {})
    if told.get("reason") == "SchedulerError":
        told["message"] = re.sub(r"(claim [-/\w]+).*", r"\1", str(told["message"]), flags=re.DOTALL)
    return told


def _without_random(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_random(member) for key, member in value.items() if key not in _RANDOM}
    return [_without_random(each) for each in value] if isinstance(value, list) else value


def best_nodes(api: KubeApi, case: JsonObject, name: str) -> list[str]:
    """The nodes that our core gives the highest total, asked about the cluster as it was before."""
    pod = api.get("Pod", name, NAMESPACE)
    del pod["spec"]["nodeName"], pod["status"]
    return Verdict({"id": name, "pod": pod, **case}).best


def as_a_case(api: KubeApi) -> JsonObject:
    pods = [each for each in api.list("Pod") if each["spec"].get("nodeName")]
    return {"pods": pods, **{name: api.list(kind) for name, kind in KINDS.items()}}


def play(both: Both, cluster: DeviceCluster, number: int, totals: Counter[str]) -> list[str]:
    """One pod: what the two schedulers do not agree about."""
    pod, claims = cluster.pod(f"p-{number}", NAMESPACE)
    name = pod["metadata"]["name"]
    both.create(*claims)
    case = as_a_case(both.ours)
    both.create(pod)
    theirs, ours = both.do(lambda api: told(api, pod))
    problems = []
    if "node" in theirs and "node" in ours and theirs["node"] != ours["node"]:
        best = best_nodes(both.ours, case, name)
        if not {theirs["node"], ours["node"]} <= set(best):
            what = f"{theirs} \n  ours {ours}\n  the best are {best}, claims {claims}"
            problems.append(f"{name}: {what}")
        totals["another node"] += 1
        # Both are to go on from what kube-scheduler chose.
        _remove(both.ours, pod, claims)
        for each in claims:
            both.ours.create(each)
        both.ours.create({**pod, "spec": {**pod["spec"], "nodeSelector": {HOSTNAME: theirs["node"]}}})
        ours = told(both.ours, pod)
    if theirs != ours:
        problems.append(f"{name}: {theirs}\n   ours {ours}\n   claims {claims}")
    totals["placed" if "node" in theirs else "pending"] += 1
    totals["with a claim made for them"] += bool(theirs.get("mappings"))
    if "node" not in theirs or "node" not in ours:
        both.remove(pod, claims)
    else:
        cluster.placed += [each["metadata"]["name"] for each in claims]
    return problems


@pytest.mark.timeout(300 + 20 * CLUSTERS)
def test_the_same_devices(
    kube_api: KubeApi,
    start_control_plane: Callable[..., ControlPlane],
    start_kube_scheduler: Callable[..., KubeScheduler],
    start_stowplan: StartStowplan,
) -> None:
    other = start_control_plane()
    start_kube_scheduler(other)
    start_stowplan()
    totals: Counter[str] = Counter()
    problems = []
    with other.client() as theirs, ThreadPoolExecutor(2) as threads:
        both = Both(theirs, kube_api, threads)
        for seed in range(CLUSTERS):
            cluster = DeviceCluster(seed)
            both.create(*cluster.objects)
            time.sleep(SETTLE_SECONDS)
            for number in range(PODS):
                problems += [f"cluster {seed}, {each}" for each in play(both, cluster, number, totals)]
            both.clear()
    assert not problems, f"{len(problems)} of {sum(totals.values())}:\n" + "\n".join(problems)
    log.info("%d clusters: %s", CLUSTERS, dict(totals))
    assert totals["placed"] >= 2 * CLUSTERS
    assert totals["pending"]
