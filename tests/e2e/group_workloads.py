"""Random workloads with one pod group each, and the state in which a scheduler leaves them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from tests.e2e.devices import CLAIM, DRIVER, GROUP, claim, device_class, device_slice, resource
from tests.parity.outcome import condition_of

from stowplan.testing import KubeApi, node, pod, wait_until
from stowplan.testing.cleanup import clear
from stowplan.testing.objects import JsonObject

NAMESPACE = "default"
VERSION = "scheduling.k8s.io/v1alpha2"
POD_GROUP = f"{VERSION}/PodGroup"
PRIORITIES = {"low": 1, "middle": 10, "high": 100}
RACK = "example.com/rack"
QUIET_SECONDS = 0.5
RETRIED = ("got allocated elsewhere in the meantime", "the object has been modified")
"""Members that share a claim are bound in a later attempt after these failures."""
WAITS_FOR_VICTIMS = "waiting for preemption to complete"
KINDS = ("Pod", POD_GROUP, "Node", CLAIM, f"{GROUP}/ResourceSlice", f"{GROUP}/DeviceClass")


class GroupWorkload(NamedTuple):
    """Nodes, running pods, pending pods without a group, and a group with its members, which are all alike.

    Names differ from those of other workloads: kube-scheduler may keep the room of pods that were deleted while it
    bound them.
    """

    nodes: list[JsonObject]
    running: list[JsonObject]
    plain: list[JsonObject]
    group: JsonObject
    members: list[JsonObject]
    devices: list[JsonObject]
    """With the claims on them."""

    @property
    def is_gated(self) -> bool:
        """Whether the gang has fewer members than it needs, so that they are not tried."""
        least = self.group["spec"]["schedulingPolicy"].get("gang", {}).get("minCount", 0)
        return bool(least > len(self.members))


def priority_class(name: str, value: int) -> JsonObject:
    metadata = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}


def pod_group(name: str, min_count: int | None = None, *, rack: str = "", **spec: Any) -> JsonObject:
    policy: JsonObject = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    if rack:
        spec["schedulingConstraints"] = {"topology": [{"key": rack}]}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": VERSION,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"schedulingPolicy": policy, **spec},
    }


def member(name: str, group: str = "g", cpu: str = "1", **spec: Any) -> JsonObject:
    made = pod(name, NAMESPACE, cpu=cpu, labels={"app": "a"})
    made["spec"] |= {"schedulingGroup": {"podGroupName": group}, "terminationGracePeriodSeconds": 0, **spec}
    return made


def draw(seed: int, *, whole: bool) -> GroupWorkload:
    """`whole`: with topology and preemption for the group as a whole."""
    random = Random(seed)
    prefix = f"{'w' if whole else 'g'}{seed}"
    large = random.random() < 0.2
    nodes = [
        node(
            f"{prefix}-n{i}",
            cpu=str(random.randint(1, 5) * (6 if large else 1)),
            labels={RACK: random.choice(("r1", "r2")), "kubernetes.io/hostname": f"{prefix}-n{i}"},
        )
        for i in range(random.randint(2, 5))
    ]
    running = []
    for i in range(random.randint(0, 5)):
        made = pod(f"running-{i}", NAMESPACE, cpu=random.choice(("500m", "1")), labels={"app": random.choice("ab")})
        priority = random.choice(("low", "middle")) if whole else "high"
        made["spec"] |= {"nodeName": random.choice(nodes)["metadata"]["name"], "priorityClassName": priority}
        made["spec"]["terminationGracePeriodSeconds"] = 0
        running.append(made)
    size = random.randint(10, 64) if large else random.randint(1, 9)
    least = random.choice((None, size, max(size - 1, 1), random.randint(1, size + 1)))
    more: dict[str, Any] = {}
    if whole:
        more |= {"rack": random.choice(("", "", RACK)), "priorityClassName": random.choice(("low", "middle"))}
    shape = _shape(random)
    if whole:
        shape["priorityClassName"] = "middle"
    cpu = random.choice(("500m", "1", "2"))
    members = [member(f"{prefix}-{i}", prefix, cpu=cpu, **shape) for i in range(size)]
    plain = _plain(random, nodes)
    kind = random.choice(("", "", "own", "shared"))
    devices: list[JsonObject] = []
    if kind == "own":
        devices = _own_devices(random, nodes, members)
    elif kind == "shared":
        entries = [{"name": "gpu", "resourceClaimName": f"{prefix}-shared"}]
        devices = _shared_device(prefix)
        for each in members:
            each["spec"]["resourceClaims"] = entries
        if whole and random.random() < 0.5:
            more["resourceClaims"] = entries
    return GroupWorkload(nodes, running, plain, pod_group(prefix, least, **more), members, devices)


def _own_devices(random: Random, nodes: list[JsonObject], members: list[JsonObject]) -> list[JsonObject]:
    """A device for each member, on nodes that have few of them."""
    claims = []
    for each in members:
        name = each["metadata"]["name"]
        each["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        claims.append(claim(name, NAMESPACE))
    slices = [device_slice(each["metadata"]["name"], random.randint(1, 6)) for each in nodes]
    return [device_class(), *slices, *claims]


def _shared_device(prefix: str) -> list[JsonObject]:
    """One device, which all nodes reach, for all members."""
    pool = {"name": prefix, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": "gpu-0"}]}
    return [device_class(), resource("ResourceSlice", prefix, spec), claim(f"{prefix}-shared", NAMESPACE)]


def _plain(random: Random, nodes: list[JsonObject]) -> list[JsonObject]:
    """Pods that fit on one node at most, so that the group finds the same room whatever else is random."""
    made = []
    for i in range(random.choice((0, 0, 1, 3))):
        each = pod(f"plain-{i}", NAMESPACE, cpu=random.choice(("500m", "100")), labels={"app": "b"})
        hostname = {"kubernetes.io/hostname": random.choice(nodes)["metadata"]["name"]}
        each["spec"] |= {"nodeSelector": hostname, "priorityClassName": "high", "terminationGracePeriodSeconds": 0}
        made.append(each)
    return made


def _shape(random: Random) -> dict[str, Any]:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}]
    kind = random.choice(("", "", "away", "spread"))
    if kind == "away":
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    if kind == "spread":
        constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **terms[0]}
        return {"topologySpreadConstraints": [constraint]}
    return {}


class EndState(NamedTuple):
    """What can be compared: members are alike, so that it does not matter which of them is bound."""

    bound: int
    plain: int
    """Pods without a group that are bound."""
    messages: dict[str, int]
    condition: tuple[str, str, str] | None
    evicted: int
    consumers: dict[str, int]
    """Resources for which claims are reserved, pods or podgroups."""

    def agrees_with(self, expected: EndState) -> bool:
        """Whether it is kube-scheduler's, except for what is random there: the placement that is tried first, and
        whether a later attempt overwrites the condition of a group that was scheduled."""
        if (self.bound, self.plain, self.evicted) != (expected.bound, expected.plain, expected.evicted):
            return False
        if self.consumers != expected.consumers:
            return False
        if self.condition is not None and "first placement" in self.condition[2]:
            return self.condition == expected.condition
        overwritten = self.condition == ("True", "Scheduled", "") and expected.bound > 0
        return self.messages == expected.messages and (overwritten or self.condition == expected.condition)

    def is_final(self, *, gated: bool) -> bool:
        """Whether the scheduler has tried every pod and waits for nothing. Members that are `gated` stay untried."""
        if any(text in message for message in self.messages for text in RETRIED):
            return False
        if gated:
            return True
        return self.condition is not None and WAITS_FOR_VICTIMS not in self.condition[2] and "" not in self.messages

    def __str__(self) -> str:
        bound = f"{self.bound} and {self.plain} plain bound"
        return f"{bound}, {self.messages}, {self.condition}, {self.evicted} evicted, claims of {self.consumers}"


def warm_up(api: KubeApi) -> None:
    """Wait until a scheduler schedules."""
    api.create_all([node("warm"), pod("warm", NAMESPACE)])
    api.wait_for_pods_bound(NAMESPACE, 1)
    remove(api)


def end_state(api: KubeApi, workload: GroupWorkload, timeout: float = 20.0) -> EndState:
    """Create the workload, wait until nothing changes any more, and remove it."""
    api.create_all(workload.nodes)
    api.create_all(workload.running)
    for number, each in enumerate(workload.running):
        # Of equal victims the later one goes first; pods without a start are in random order.
        changes = {"status": {"phase": "Running", "startTime": f"2026-01-01T00:0{number}:00Z"}}
        api.patch("Pod", each["metadata"]["name"], changes, NAMESPACE, subresource="status")
    if workload.plain:
        api.create_all(workload.plain)
        names = [each["metadata"]["name"] for each in workload.plain]
        wait_until(lambda: all(_is_tried(api.get("Pod", name, NAMESPACE)) for name in names), every=0.05)
    api.create_all(workload.devices)
    api.create_all(workload.members)
    time.sleep(0.2)
    api.create(workload.group)
    deadline, since, last = time.monotonic() + timeout, time.monotonic(), None
    while time.monotonic() < deadline:
        state = _state(api, workload)
        if state != last or not state.is_final(gated=workload.is_gated):
            last, since = state, time.monotonic()
        elif time.monotonic() - since > QUIET_SECONDS:
            break
        time.sleep(0.05)
    assert last is not None
    remove(api)
    return last


def _state(api: KubeApi, workload: GroupWorkload) -> EndState:
    pods = {each["metadata"]["name"]: each for each in api.list("Pod", NAMESPACE)}

    def there(made: list[JsonObject]) -> list[JsonObject]:
        return [pods[each["metadata"]["name"]] for each in made if each["metadata"]["name"] in pods]

    members, plain = there(workload.members), there(workload.plain)
    pending = [each for each in members + plain if not each["spec"].get("nodeName")]
    found = [condition_of(each) for each in pending]
    messages = Counter("" if each is None else str(each["message"]) for each in found)
    bound = sum(bool(each["spec"].get("nodeName")) for each in members)
    condition = group_condition(api, workload.group["metadata"]["name"])
    evicted = len(workload.running) - len(there(workload.running))
    claims = api.list(CLAIM, NAMESPACE)
    consumers = Counter(ref["resource"] for each in claims for ref in each.get("status", {}).get("reservedFor", ()))
    others = len(members) + len(plain) - len(pending) - bound
    return EndState(bound, others, dict(messages), condition, evicted, dict(consumers))


def _is_tried(made: JsonObject) -> bool:
    return bool(made["spec"].get("nodeName")) or condition_of(made) is not None


def group_condition(api: KubeApi, name: str) -> tuple[str, str, str] | None:
    group = api.get(POD_GROUP, name, NAMESPACE)
    for each in group.get("status", {}).get("conditions", ()):
        if each["type"] == "PodGroupScheduled":
            return each["status"], each["reason"], each.get("message", "")
    return None


def message_of(api: KubeApi, name: str) -> str:
    """The message of a pod's condition PodScheduled."""
    found = condition_of(api.get("Pod", name, NAMESPACE))
    return "" if found is None else str(found.get("message", ""))


def remove(api: KubeApi, kinds: Iterable[str] = KINDS) -> None:
    for kind in kinds:
        clear(api, kind)
