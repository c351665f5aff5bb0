"""Random pods: what each feature of a workload adds to one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tests.builders import PREFERRED, REQUIRED, ZONE, Json, container, spread, weighted
from tests.parity.draw import GPU, HOME, NAMESPACES, RACK, TOPOLOGY_KEYS, ZONES, Draw
from tests.parity.nodes import CORDONED, EFFECTS, IMAGES, REGISTRY, TAINT_KEYS

CPU = {"wide": (100, 2500), "tight": (100, 1500), "full": (200, 1200)}
"""Bounds of a container's millicores, by the room that nodes have."""
MEMORY = ("64Mi", "128Mi", "300M", "512Mi", "0.5Gi", "1Gi", "1234567890")
PRIORITIES = {"low": -10, "middle": 100, "high": 1000, "highest": 100_000}
LOWEST = "low"
PATIENT = "patient"
"""The priority class of pods that do not preempt."""
PACKING = "packing"
"""The schedulerName of a profile that is not the default one."""
GATE = {"name": "example.com/hold"}


@dataclass
class Setting:
    """What pods are drawn for."""

    room: str
    features: Collection[str]
    nodes: tuple[str, ...]
    expected: int
    """How many pods there will be."""
    come: int = 0
    """How many there were."""


def make_pod(draw: Draw, name: str, setting: Setting) -> Json:
    """A pod of a workload. Not each is one that an API server accepts."""
    namespace = draw.choice(tuple(NAMESPACES)) if draw.chance(0.3) else HOME
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": draw.labels()},
        "spec": {"containers": [_container(draw, f"c{i}", setting.room) for i in draw.times(1, 2)]},
    }
    for feature, (probability, add) in _ADDITIONS.items():
        if feature in setting.features and draw.chance(probability):
            add(draw, pod, setting)
    return pod


def _container(draw: Draw, name: str, room: str) -> Json:
    requests: Json = {}
    if draw.chance(0.85):
        requests["cpu"] = f"{draw.randrange(*CPU[room], 50)}m"
    if draw.chance(0.85):
        requests["memory"] = draw.choice(MEMORY)
    return container(name, f"{REGISTRY}/web:1", **requests)


def _resources(draw: Draw, pod: Json, setting: Setting) -> None:
    """Extended and ephemeral resources, more than any node has, init containers, sidecars, requests of the pod."""
    spec = pod["spec"]
    requests = spec["containers"][0]["resources"]["requests"]
    if draw.chance(0.3):
        requests[GPU] = str(draw.randint(1, 3))
        spec["containers"][0]["resources"]["limits"] = {GPU: requests[GPU]}
    if draw.chance(0.25):
        requests["ephemeral-storage"] = draw.choice(("1Gi", "8Gi", "20Gi"))
    if draw.chance(0.06):
        requests[draw.choice(("cpu", "memory"))] = draw.choice(("64", "900Gi"))
    if draw.chance(0.1):
        requests["hugepages-2Mi"] = "64Mi"
        spec["containers"][0]["resources"]["limits"] = {"hugepages-2Mi": "64Mi"}
    if draw.chance(0.3):
        spec["initContainers"] = [_init_container(draw, f"i{i}", setting.room) for i in draw.times(1, 3)]
    if draw.chance(0.12):
        spec["resources"] = {"requests": {"cpu": draw.choice(("500m", "2", "3")), "memory": "2Gi"}}


def _init_container(draw: Draw, name: str, room: str) -> Json:
    made = _container(draw, name, room)
    return made | {"restartPolicy": "Always"} if draw.chance(0.4) else made


def _tolerations(draw: Draw, pod: Json, setting: Setting) -> None:
    pod["spec"]["tolerations"] = [_toleration(draw) for _ in draw.times(1, 3)]


def _toleration(draw: Draw) -> Json:
    if draw.chance(0.1):
        return {"operator": "Exists"}
    made: Json = {"key": draw.choice(TAINT_KEYS)}
    if draw.chance(0.4):
        made["operator"] = "Exists"
    elif draw.chance(0.9):
        made["value"] = draw.choice("ab")
    if draw.chance(0.6):
        made["effect"] = draw.choice(EFFECTS)
    return made


def _tolerate_cordons(draw: Draw, pod: Json, setting: Setting) -> None:
    pod["spec"].setdefault("tolerations", []).append({"operator": "Exists", **CORDONED})


def _node_affinity(draw: Draw, pod: Json, setting: Setting) -> None:
    affinity: Json = {}
    if draw.chance(0.5):
        affinity[REQUIRED] = {"nodeSelectorTerms": [_node_term(draw, setting) for _ in draw.times(1, 2)]}
    if draw.chance(0.6):
        affinity[PREFERRED] = [
            {"weight": draw.randint(1, 100), "preference": _node_term(draw, setting)} for _ in draw.times(1, 3)
        ]
    pod["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity
    if draw.chance(0.2):
        pod["spec"]["nodeSelector"] = draw.choice(({"disk": "ssd"}, {"disk": "hdd"}, {ZONE: draw.choice(ZONES)}))


def _node_term(draw: Draw, setting: Setting) -> Json:
    made: Json = {"matchExpressions": [_node_requirement(draw) for _ in draw.times(1, 2)]}
    if draw.chance(0.15):
        names = [draw.choice(setting.nodes)]
        made["matchFields"] = [{"key": "metadata.name", "operator": draw.choice(("In", "NotIn")), "values": names}]
        if draw.chance(0.6):
            del made["matchExpressions"]
    return made


def _node_requirement(draw: Draw) -> Json:
    operator = draw.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": RACK, "operator": operator, "values": [str(draw.randint(1, 6))]}
    key = draw.choice(("disk", ZONE, RACK, "nowhere"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": draw.some(("ssd", "hdd", "3", *ZONES), 1, 3)}


def _pod_affinity(draw: Draw, pod: Json, setting: Setting) -> None:
    for kind in draw.some(("podAffinity", "podAntiAffinity"), 1, 2):
        made: Json = {}
        if draw.chance(0.5):
            made[REQUIRED] = [_pod_term(draw, pod) for _ in draw.times(1, 2)]
        if draw.chance(0.6):
            made[PREFERRED] = [weighted(draw.randint(1, 100), _pod_term(draw, pod)) for _ in draw.times(1, 2)]
        pod["spec"].setdefault("affinity", {})[kind] = made


def _pod_term(draw: Draw, pod: Json) -> Json:
    labels = pod["metadata"]["labels"]
    made: Json = {"labelSelector": draw.pod_selector(labels), "topologyKey": draw.choice(TOPOLOGY_KEYS)}
    where = draw.random()
    if where < 0.25:
        made["namespaces"] = draw.some(tuple(NAMESPACES), 1, 2)
    if 0.2 < where < 0.45:
        made["namespaceSelector"] = draw.choice(
            ({}, {"matchLabels": {"team": "a"}}, {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]})
        )
    if draw.chance(0.1):
        made[draw.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["revision"]
    return made


def _spread(draw: Draw, pod: Json, setting: Setting) -> None:
    keys = draw.some(tuple(dict.fromkeys(TOPOLOGY_KEYS)), 1, 2)
    pod["spec"]["topologySpreadConstraints"] = [_constraint(draw, key, pod) for key in keys]


def _constraint(draw: Draw, key: str, pod: Json) -> Json:
    hard = draw.chance(0.6)
    selected = draw.pod_selector(pod["metadata"]["labels"])
    made = spread(key, draw.choice((1, 1, 2, 3)), hard=hard, labelSelector=selected)
    if hard and draw.chance(0.3):
        made["minDomains"] = draw.randint(1, 5)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draw.chance(0.3):
            made[policy] = draw.choice(("Honor", "Ignore"))
    if draw.chance(0.2):
        made["matchLabelKeys"] = ["revision"]
    return made


def _ports(draw: Draw, pod: Json, setting: Setting) -> None:
    port: Json = {"containerPort": 80, "hostPort": draw.choice((80, 8080))}
    if draw.chance(0.4):
        port["protocol"] = draw.choice(("TCP", "UDP"))
    if draw.chance(0.4):
        port["hostIP"] = draw.choice(("0.0.0.0", "127.0.0.1", "10.1.2.3"))
    pod["spec"]["containers"][0]["ports"] = [port]


def _images(draw: Draw, pod: Json, setting: Setting) -> None:
    for one in pod["spec"]["containers"]:
        one["image"] = f"{REGISTRY}/{draw.choice(tuple(IMAGES)).removesuffix(':latest')}"


def _priority(draw: Draw, pod: Json, setting: Setting) -> None:
    """Those that come later are more important, by and large."""
    names = tuple(PRIORITIES)
    at = setting.come * len(names) // setting.expected
    pod["spec"]["priorityClassName"] = draw.choice((*names[max(at - 1, 0) : at + 2], PATIENT))


def _owner(draw: Draw, pod: Json, setting: Setting) -> None:
    """A controller that the workload has for each app; schedulers look it up by name."""
    kind, api_version = draw.choice((("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1")))
    name = f"{pod['metadata']['labels']['app']}-{kind.lower()}"
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]


def _gates(draw: Draw, pod: Json, setting: Setting) -> None:
    pod["spec"]["schedulingGates"] = [GATE]


def _profile(draw: Draw, pod: Json, setting: Setting) -> None:
    pod["spec"]["schedulerName"] = PACKING


_ADDITIONS: dict[str, tuple[float, Callable[[Draw, Json, Setting], None]]] = {
    "resources": (0.8, _resources),
    "taints": (0.5, _tolerations),
    "cordons": (0.25, _tolerate_cordons),
    "node affinity": (0.5, _node_affinity),
    "pod affinity": (0.5, _pod_affinity),
    "spread": (0.6, _spread),
    "ports": (0.5, _ports),
    "images": (0.9, _images),
    "priority": (0.8, _priority),
    "owners": (0.6, _owner),
    "gates": (0.1, _gates),
    "profiles": (0.3, _profile),
}
