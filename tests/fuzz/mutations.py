"""Valid objects of all kinds that a scheduler reads, and random changes of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from tests.e2e.devices import CLAIMS_ARE_SERVED, claim, device_class, device_slice, resource, user
from tests.e2e.hostile_pods import BUILDERS
from tests.fuzz.expressions import Expressions

from stowplan.testing import node, pod
from stowplan.testing.objects import JsonObject

NAMESPACE = "default"
MAX_HOSTILE_SIZE = 40
KEYS = ("zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "app", "x" * 63, "a.b/c", "disk")
TEXTS = ("", "a", "x" * 63, "x" * 300, "0", "-1", "true", "null", "é", "\n", "a/b", "A", "*", "::1", "127.0.0.1")
NUMBERS = (0, 1, -1, 2, 100, 65_535, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -(2**31))
QUANTITIES = ("0", "1", "100m", "1.5", "1e3", "1E", "9223372036854775807", "1n", "1Ki", "0.5Gi", "12e-3", "-1", "1e20")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute", "")

Maker = Callable[["Mutations", str], JsonObject]


class Mutations:
    """A generator of random objects."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._expressions = Expressions(rng)
        self._number = 0

    def object(self) -> JsonObject:
        """An object of a random kind, valid or not."""
        self._number += 1
        weights = [weight for weight, _ in MAKERS]
        make = self._rng.choices([make for _, make in MAKERS], weights)[0]
        made = make(self, f"f-{self._number}")
        for _ in range(self._rng.choice((0, 0, 1, 1, 2, 4))):
            self._mutate(made)
        return made

    # Kinds
    def pod(self, name: str) -> JsonObject:
        rng = self._rng
        if rng.random() < 0.15:
            build, size = rng.choice(list(BUILDERS.values()))
            made = build(name, NAMESPACE, rng.randint(1, MAX_HOSTILE_SIZE) if size else rng.randrange(10))[-1]
            made["spec"].pop("priorityClassName", None)
            return made
        requests = {key: rng.choice(QUANTITIES) for key in ("cpu", "memory", "ephemeral-storage", "example.com/r")}
        made = pod(name, NAMESPACE, labels=self._labels())
        container = made["spec"]["containers"][0]
        container["resources"] = {"requests": {k: v for k, v in requests.items() if rng.random() < 0.5}}
        for field, value in self._pod_fields().items():
            if rng.random() < 0.15:
                made["spec"][field] = value()
        return made

    def _pod_fields(self) -> dict[str, Callable[[], Any]]:
        rng, container = self._rng, {"name": "i", "image": "i"}
        claim_of: JsonObject = {"name": "c", "resourceClaimName": "f-1"}
        ports = [
            {"containerPort": 80, "hostPort": rng.choice((80, 8080, 65535)), "protocol": rng.choice(("TCP", "UDP"))}
        ]
        return {
            "nodeSelector": self._labels,
            "affinity": self._affinity,
            "tolerations": lambda: [self._toleration() for _ in range(rng.randint(1, 4))],
            "topologySpreadConstraints": lambda: [self._spread() for _ in range(rng.randint(1, 3))],
            "initContainers": lambda: [{**container, "restartPolicy": "Always"}, {**container, "name": "j"}],
            "containers": lambda: [{**container, "ports": ports}],
            "schedulingGates": lambda: [{"name": "example.com/gate"}],
            "hostNetwork": lambda: True,
            "overhead": lambda: {},
            "nodeName": lambda: f"f-{rng.randint(1, 300)}",
            "volumes": lambda: [self._volume(f"v-{each}") for each in range(rng.randint(1, 3))],
            "resourceClaims": lambda: [claim_of],
            "preemptionPolicy": lambda: rng.choice(("Never", "PreemptLowerPriority")),
            "priorityClassName": lambda: rng.choice(("system-cluster-critical", "system-node-critical")),
            "resources": lambda: {"requests": {"cpu": rng.choice(QUANTITIES)}},
            "os": lambda: {"name": rng.choice(("linux", "windows"))},
        }

    def node(self, name: str) -> JsonObject:
        rng = self._rng
        made = node(name, cpu=rng.choice(("1", "4", "64", "100m")), labels=self._labels())
        room = {key: rng.choice(QUANTITIES) for key in ("memory", "pods", "example.com/r", "hugepages-2Mi")}
        made["status"]["allocatable"] |= {key: value for key, value in room.items() if rng.random() < 0.4}
        made["status"]["images"] = [{"names": ["i"], "sizeBytes": rng.choice(NUMBERS)}] if rng.random() < 0.3 else []
        taint = {"key": rng.choice(KEYS), "value": "a", "effect": rng.choice(EFFECTS)}
        made["spec"] = {"unschedulable": rng.random() < 0.1, "taints": [taint] if rng.random() < 0.3 else []}
        return made

    def claim(self, name: str) -> JsonObject:
        rng = self._rng
        made = claim(name, NAMESPACE, self._expressions.expression())
        exactly = made["spec"]["devices"]["requests"][0]["exactly"]
        exactly |= rng.choice(({}, {"count": 2}, {"allocationMode": "All"}, {"adminAccess": True}, {"count": 2**31}))
        if rng.random() < 0.2:
            constraint = {"requests": ["gpu"], "matchAttribute": "gpu.example.com/model"}
            made["spec"]["devices"]["constraints"] = [constraint]
        return made

    def claim_user(self, name: str) -> JsonObject:
        return user(name, NAMESPACE, f"f-{self._rng.randint(max(1, self._number - 50), self._number)}")

    def slice(self, name: str) -> JsonObject:
        rng = self._rng
        made = device_slice(f"f-{rng.randint(1, 300)}", rng.randint(0, 4))
        made["metadata"]["name"] = made["spec"]["pool"]["name"] = name
        for device in made["spec"]["devices"]:
            value = rng.choice(({"string": "a"}, {"int": 1}, {"bool": True}, {"version": "1.2.3"}))
            device |= rng.choice(({}, {"attributes": {"model": value}}, {"capacity": {"memory": {"value": "1Gi"}}}))
        return made

    def device_class(self, name: str) -> JsonObject:
        return device_class(name, selectors=[{"cel": {"expression": self._expressions.expression()}}])

    def claim_template(self, name: str) -> JsonObject:
        return resource("ResourceClaimTemplate", name, {"spec": self.claim(name)["spec"]}, NAMESPACE)

    def volume(self, name: str) -> JsonObject:
        rng = self._rng
        spec: JsonObject = {
            "capacity": {"storage": rng.choice(QUANTITIES)},
            "accessModes": rng.choice((["ReadWriteOnce"], ["ReadWriteMany", "ReadOnlyMany"], ["ReadWriteOncePod"])),
            "storageClassName": rng.choice(("", f"f-{rng.randint(1, 300)}")),
            **rng.choice(({"hostPath": {"path": "/x"}}, {"csi": {"driver": "d.example.com", "volumeHandle": name}})),
        }
        if rng.random() < 0.5:
            spec["nodeAffinity"] = {"required": self._node_terms()}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": _meta(name, self._labels()), "spec": spec}

    def volume_claim(self, name: str) -> JsonObject:
        rng = self._rng
        spec: JsonObject = {
            "accessModes": [rng.choice(("ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"))],
            "resources": {"requests": {"storage": rng.choice(QUANTITIES)}},
            "storageClassName": f"f-{rng.randint(1, 300)}",
        }
        if rng.random() < 0.3:
            spec["volumeName"] = f"f-{rng.randint(1, 300)}"
        meta = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    def storage_class(self, name: str) -> JsonObject:
        made = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
        mode = self._rng.choice(("Immediate", "WaitForFirstConsumer"))
        return {**made, "provisioner": "d.example.com", "volumeBindingMode": mode}

    def csi_node(self, name: str) -> JsonObject:
        driver = {"name": "d.example.com", "nodeID": "n", "allocatable": {"count": self._rng.choice(NUMBERS)}}
        meta = {"name": f"f-{self._rng.randint(1, 300)}"}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": [driver]}}

    def budget(self, name: str) -> JsonObject:
        spec = {"minAvailable": self._rng.choice((1, "50%", 0)), "selector": {"matchLabels": self._labels()}}
        meta = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}

    def priority_class(self, name: str) -> JsonObject:
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        return {**kind, "value": self._rng.choice(NUMBERS)}

    # Parts
    def _labels(self) -> dict[str, str]:
        rng = self._rng
        return {rng.choice(KEYS): rng.choice(("a", "b", "", "1", "x" * 63)) for _ in range(rng.randint(0, 3))}

    def _affinity(self) -> JsonObject:
        rng = self._rng
        term = {"labelSelector": {"matchLabels": self._labels()}, "topologyKey": rng.choice(KEYS)}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term] * rng.randint(1, 2)}
        weighted = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}]}
        nodes = {"requiredDuringSchedulingIgnoredDuringExecution": self._node_terms()}
        return rng.choice(
            (
                {"podAffinity": required},
                {"podAntiAffinity": required},
                {"podAffinity": weighted},
                {"nodeAffinity": nodes},
            )
        )

    def _node_terms(self) -> JsonObject:
        rng = self._rng
        values = [rng.choice(("a", "b", "1", "5"))]
        expressions = []
        for _ in range(rng.randint(1, 3)):
            operator = rng.choice(OPERATORS)
            more = {} if operator in ("Exists", "DoesNotExist") else {"values": values}
            expressions.append({"key": rng.choice(KEYS), "operator": operator, **more})
        return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}

    def _toleration(self) -> JsonObject:
        rng = self._rng
        return {"key": rng.choice(KEYS), "operator": rng.choice(("Exists", "Equal")), "effect": rng.choice(EFFECTS)}

    def _spread(self) -> JsonObject:
        rng = self._rng
        return {
            "maxSkew": rng.choice((1, 2, 2**31 - 1)),
            "topologyKey": rng.choice(KEYS),
            "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": self._labels()},
        }

    def _volume(self, name: str) -> JsonObject:
        claim_name = f"f-{self._rng.randint(max(1, self._number - 50), self._number)}"
        sources = ({"persistentVolumeClaim": {"claimName": claim_name}}, {"emptyDir": {}}, {"configMap": {"name": "x"}})
        return {"name": name, **self._rng.choice(sources)}

    # Changes
    def _mutate(self, made: JsonObject) -> None:
        """Change, remove or duplicate a random part below `spec`, `status` or the metadata."""
        places = list(_places(made))
        if not places:
            return
        holder, key = self._rng.choice(places)
        change = self._rng.random()
        if change < 0.25:
            del holder[key]
        elif change < 0.4 and isinstance(holder, list):
            holder.insert(0, copy.deepcopy(holder[key]))
        else:
            holder[key] = self._other(holder[key])

    def _other(self, value: Any) -> Any:
        rng = self._rng
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return rng.choice(NUMBERS)
        if isinstance(value, str):
            return rng.choice((*TEXTS, *QUANTITIES, *KEYS, *OPERATORS, *EFFECTS))
        return copy.deepcopy(value) if value else None


def _meta(name: str, labels: dict[str, str]) -> JsonObject:
    return {"name": name, "labels": labels}


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """(container, key) of every value that may change."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in items:
        if depth == 0 and key in ("apiVersion", "kind"):
            continue
        if depth > 0 and key not in ("name", "namespace"):
            found.append((value, key))
        found += _places(member, depth + 1)
    return found


_OF_CLAIMS: tuple[tuple[int, Maker], ...] = (
    (6, Mutations.claim),
    (6, Mutations.claim_user),
    (4, Mutations.slice),
    (1, Mutations.device_class),
    (1, Mutations.claim_template),
)
MAKERS: tuple[tuple[int, Maker], ...] = (
    (60, Mutations.pod),
    (15, Mutations.node),
    *(_OF_CLAIMS if CLAIMS_ARE_SERVED else ()),
    (3, Mutations.volume),
    (4, Mutations.volume_claim),
    (2, Mutations.storage_class),
    (2, Mutations.csi_node),
    (2, Mutations.budget),
    (1, Mutations.priority_class),
)
"""Kinds, and how often each is made."""
