"""Random clusters with devices, and a pod with claims on them: cases as `stowplan evaluate` reads them.

    python -m tests.property.device_cases SEED COUNT > cases.jsonl

They dwell on what makes allocation hard: pools of several slices and generations, shared counters and capacity,
constraints, alternatives, taints, devices of many nodes, devices that are taken.
"""

from __future__ import annotations

import json
import sys
from random import Random

from tests.builders import Json

GPU, NET = "gpu.example.com", "net.example.com"
ZONES = ("a", "b")
ZONE = "topology.kubernetes.io/zone"
MODELS = ("a100", "t4", "h100")


SELECTORS = (
    f'device.driver == "{GPU}"',
    f'device.attributes["{GPU}"].model == "a100"',
    f'device.attributes["{GPU}"].model in ["a100", "t4"]',
    f'device.attributes["{GPU}"].?model.orValue("none").startsWith("a")',
    f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0',
    f'"{GPU}" in device.capacity && "memory" in device.capacity["{GPU}"]',
    f'has(device.attributes["{GPU}"].numa) && device.attributes["{GPU}"].numa == 0',
    f'cel.bind(d, device.attributes["{GPU}"], has(d.version) && d.version.isGreaterThan(semver("1.5.0")))',
    "device.allowMultipleAllocations",
    'device.attributes["dra.example.com"].?fast.orValue(false)',
)
BROKEN = ('device.attributes["x"].missing == 1', "device.nothing", '"text"', "1 +", f'device.attributes["{GPU}"].numa')


class DeviceCases:
    """Makes cases from one source of randomness."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._uid = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def metadata(self, name: str, namespace: str = "") -> Json:
        self._uid += 1
        made = {"name": name, "uid": f"uid-{self._uid:04d}"}
        return {**made, "namespace": namespace} if namespace else made

    def case(self) -> Json:
        r = self.random
        nodes = [self.node(f"node-{i}") for i in range(r.randint(1, 5))]
        slices = self.slices([node["metadata"]["name"] for node in nodes])
        claims = [self.claim(f"claim-{i}") for i in range(r.choice((1, 1, 1, 2, 3)))]
        held = self.held(slices)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self.metadata("pod", "default"),
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": f"r{i}", "resourceClaimName": f"claim-{i}"} for i in range(len(claims))],
            },
        }
        return {
            "pod": pod,
            "nodes": nodes,
            "pods": [],
            "deviceclasses": self.classes(),
            "resourceslices": slices,
            "resourceclaims": claims + held,
        }

    def node(self, name: str) -> Json:
        labels = {"kubernetes.io/hostname": name, ZONE: self.random.choice(ZONES)}
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        metadata = {**self.metadata(name), "labels": labels}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "spec": {},
            "status": {"capacity": amounts, "allocatable": amounts},
        }

    def classes(self) -> list[Json]:
        opaque = {"opaque": {"driver": GPU, "parameters": {"mode": "class"}}}
        specs: dict[str, Json] = {
            "any": {},
            "gpu": {"selectors": [{"cel": {"expression": SELECTORS[0]}}], "config": [opaque]},
            "picky": {"selectors": [{"cel": {"expression": self.random.choice(SELECTORS)}}]},
        }
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
        return [{**made, "metadata": self.metadata(name), "spec": spec} for name, spec in specs.items()]

    # Supply

    def slices(self, nodes: list[str]) -> list[Json]:
        made: list[Json] = []
        for node in nodes:
            if self.chance(0.85):
                made += self.pool(node, GPU, {"nodeName": node})
            if self.chance(0.15):
                made += self.partitions(f"{node}-mig", {"nodeName": node})
        if self.chance(0.3):
            terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [self.random.choice(ZONES)]}]}]
            made += self.pool("zonal", NET, {"nodeSelector": {"nodeSelectorTerms": terms}})
        if self.chance(0.3):
            made += self.pool("everywhere", self.random.choice((GPU, NET)), {"allNodes": True})
        if self.chance(0.25):
            made += self.pool("each", GPU, {"perDeviceNodeSelection": True}, nodes)
        if self.chance(0.15):
            made += self.partitions("fabric", {"allNodes": True})
        self.random.shuffle(made)
        return made

    def pool(self, name: str, driver: str, where: Json, nodes: list[str] | None = None) -> list[Json]:
        r = self.random
        count, generation = r.choice((1, 1, 1, 2, 3)), r.randint(1, 2)
        made, number = [], 0
        for i in range(count):
            devices = []
            for _ in range(r.randint(1, 4)):
                devices.append(self.device(f"dev-{number}", nodes))
                number += 0 if self.chance(0.01) else 1
            made.append(
                self.slice(f"{name}-{driver[:3]}-{i}", driver, name, generation, count, {**where, "devices": devices})
            )
        if self.chance(0.08):
            made.pop()
        if self.chance(0.1):
            leftover = {**where, "devices": [self.device("old-0", nodes)]}
            made.append(self.slice(f"{name}-{driver[:3]}-old", driver, name, generation - 1, 1, leftover))
        return made

    def slice(self, name: str, driver: str, pool: str, generation: int, count: int, rest: Json) -> Json:
        spec = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}, **rest}
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
        return {**made, "metadata": self.metadata(name), "spec": spec}

    def device(self, name: str, nodes: list[str] | None = None) -> Json:
        r = self.random
        attributes: Json = {"numa": {"int": r.randint(0, 1)}, "model": {"string": r.choice(MODELS)}}
        if self.chance(0.4):
            attributes["version"] = {"version": r.choice(("1.0.0", "2.1.0", "1.5.0-rc.1"))}
        if self.chance(0.3):
            attributes["dra.example.com/fast"] = {"bool": self.chance(0.5)}
        if self.chance(0.1):
            attributes.pop(r.choice(("numa", "model")))
        made: Json = {"name": name, "attributes": attributes}
        if self.chance(0.7):
            made["capacity"] = {"memory": {"value": r.choice(("16Gi", "40Gi", "80Gi"))}}
        if self.chance(0.12):
            made |= self.shareable()
        if self.chance(0.12):
            effect = r.choice(("NoSchedule", "NoExecute", "None"))
            made["taints"] = [{"key": r.choice(("sick", "old")), "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}]
        if self.chance(0.05):
            made |= {
                "bindingConditions": ["ready"],
                "bindingFailureConditions": ["broken"],
                "bindsToNode": self.chance(0.5),
            }
        if nodes is not None:
            made |= r.choice(({"nodeName": r.choice(nodes)}, {"allNodes": True}))
        return made

    def shareable(self) -> Json:
        r = self.random
        policies: tuple[Json | None, ...] = (
            None,
            {"default": "10Gi", "validRange": {"min": "5Gi", "max": "30Gi", "step": "5Gi"}},
            {"default": "8Gi", "validValues": ["8Gi", "16Gi", "32Gi"]},
            {"default": "4Gi", "validRange": {"min": "4Gi"}},
        )
        memory: Json = {"value": r.choice(("40Gi", "80Gi"))}
        if (policy := r.choice(policies)) is not None:
            memory["requestPolicy"] = policy
        capacity = {"memory": memory} | ({"lanes": {"value": "4"}} if self.chance(0.3) else {})
        return {"allowMultipleAllocations": True, "capacity": capacity}

    def partitions(self, pool: str, where: Json) -> list[Json]:
        """A pool whose devices draw on common counters."""
        r = self.random
        counters = {"memory": {"value": "40Gi"}, "slots": {"value": "4"}}
        sets = [{"name": f"set-{i}", "counters": counters} for i in range(r.randint(1, 2))]
        devices = []
        for i in range(r.randint(2, 6)):
            size = r.randint(1, 4)
            drawn = {"memory": {"value": f"{10 * size}Gi"}, "slots": {"value": str(size)}}
            wrong = "set-9" if self.chance(0.02) else f"set-{r.randrange(len(sets))}"
            device = self.device(f"part-{i}")
            device["consumesCounters"] = [{"counterSet": wrong, "counters": drawn}]
            devices.append(device)
        return [
            self.slice(f"{pool}-counters", GPU, pool, 1, 2, {**where, "sharedCounters": sets}),
            self.slice(f"{pool}-devices", GPU, pool, 1, 2, {**where, "devices": devices}),
        ]

    # Demand

    def held(self, slices: list[Json]) -> list[Json]:
        """Claims of others, with devices or shares of them."""
        made: list[Json] = []
        for item in slices:
            spec = item["spec"]
            for device in spec.get("devices", ()):
                if not self.chance(0.2):
                    continue
                result: Json = {
                    "request": "r",
                    "driver": spec["driver"],
                    "pool": spec["pool"]["name"],
                    "device": device["name"],
                }
                if self.chance(0.05):
                    result["adminAccess"] = True
                elif device.get("allowMultipleAllocations"):
                    taken = {name: "10Gi" if name == "memory" else "1" for name in device["capacity"]}
                    result |= {"shareID": f"00000000-0000-4000-8000-{self._uid:012d}", "consumedCapacity": taken}
                claim = self.claim_of(
                    [{"name": "r", "exactly": self.exactly(1)}], f"held-{len(made)}-{item['metadata']['name']}"
                )
                claim["status"] = {"allocation": {"devices": {"results": [result]}}}
                made.append(claim)
        return made

    def claim_of(self, requests: list[Json], name: str) -> Json:
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": self.metadata(name, "default")}
        return {**made, "spec": {"devices": {"requests": requests}}, "status": {}}

    def claim(self, name: str) -> Json:
        r = self.random
        requests = [self.request(f"req-{i}") for i in range(r.choice((1, 1, 2, 2, 3)))]
        claim = self.claim_of(requests, name)
        devices = claim["spec"]["devices"]
        names = [request["name"] for request in requests]
        if self.chance(0.4):
            devices["constraints"] = [self.constraint(requests) for _ in range(r.choice((1, 1, 2)))]
        if self.chance(0.2):
            opaque = {"driver": GPU, "parameters": {"mode": "claim"}}
            devices["config"] = [{"opaque": opaque}, {"requests": r.sample(names, 1), "opaque": opaque}]
        return claim

    def constraint(self, requests: list[Json]) -> Json:
        r = self.random
        kind = r.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        name = r.choice(("numa", "model", "version"))
        made: Json = {kind: f"{GPU}/{name}" if self.chance(0.85) else "dra.example.com/fast"}
        if self.chance(0.5):
            known = [x["name"] for x in requests]
            known += [f"{x['name']}/{sub['name']}" for x in requests for sub in x.get("firstAvailable", ())]
            made["requests"] = r.sample(known, r.randint(1, len(known)))
        return made

    def request(self, name: str) -> Json:
        if not self.chance(0.3):
            return {"name": name, "exactly": self.exactly()}
        subs = [{"name": f"sub-{i}", **self.exactly(plain=True)} for i in range(self.random.randint(1, 4))]
        return {"name": name, "firstAvailable": subs}

    def exactly(self, count: int | None = None, *, plain: bool = False) -> Json:
        r = self.random
        made: Json = {"deviceClassName": r.choice(("any", "gpu", "gpu", "picky")), "allocationMode": "ExactCount"}
        if count is None and self.chance(0.12):
            made["allocationMode"] = "All"
        else:
            made["count"] = count or r.choice((1, 1, 1, 2, 2, 3, 4, 12))
        if self.chance(0.35):
            made["selectors"] = [{"cel": {"expression": r.choice(SELECTORS)}}]
        if self.chance(0.015):
            made["selectors"] = [{"cel": {"expression": r.choice(BROKEN)}}]
        if self.chance(0.3):
            toleration = r.choice(
                ({"operator": "Exists"}, {"key": "sick", "operator": "Exists", "effect": "NoSchedule"})
            )
            made["tolerations"] = [toleration]
        if self.chance(0.15):
            made["capacity"] = {"requests": {"memory": r.choice(("1Gi", "7Gi", "10Gi", "16Gi", "39Gi", "100Gi"))}}
        if not plain and self.chance(0.06):
            made["adminAccess"] = True
        return made


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(count):
        case = DeviceCases(seed * 1_000_003 + number).case()
        print(json.dumps({"id": f"devices-{seed}-{number}", **case}))  # noqa: T201


if __name__ == "__main__":
    main()
