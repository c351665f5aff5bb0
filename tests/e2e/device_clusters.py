"""Random clusters with devices, and pods that claim them in all the ways there are."""

from __future__ import annotations

from typing import Any

from tests.builders import HOSTNAME
from tests.e2e.devices import resource
from tests.parity.draw import Draw

from stowplan.testing import node, pod
from stowplan.testing.objects import JsonObject

DRIVERS = ("gpu.example.com", "nic.example.com")
MODELS = ("ant", "bee", "cow")
RACK = "rack"
EXTENDED = "example.com/gpu"

_ANY = "any"


class DeviceCluster:
    """What there is before the first pod comes. All of it follows from the seed."""

    def __init__(self, seed: int) -> None:
        self._draw = Draw(f"devices {seed}")
        self.nodes = [self._node(number) for number in range(self._draw.randint(2, 4))]
        self.classes = [self._class(driver) for driver in DRIVERS] + [resource("DeviceClass", _ANY, {})]
        self.slices = [*self._local_slices(), *self._shared_slices()]
        self.placed: list[str] = []
        """Claims that pods use which have a node."""

    @property
    def objects(self) -> list[JsonObject]:
        return [*self.nodes, *self.classes, *self.slices]

    def _node(self, number: int) -> JsonObject:
        """No two of a size, so that equal scores are rare. Some offer the extended resource as device plugins do."""
        made = node(f"n-{number}", cpu=str(3 + 4 * number), labels={RACK: self._draw.choice("xy")})
        if self._draw.chance(0.2):
            for room in ("capacity", "allocatable"):
                made["status"][room] = {**made["status"][room], EXTENDED: "2"}
        return made

    def _class(self, driver: str) -> JsonObject:
        extended = {"extendedResourceName": EXTENDED} if driver == DRIVERS[0] else {}
        return resource("DeviceClass", driver, {"selectors": [_cel(f'device.driver == "{driver}"')], **extended})

    # Supply
    def _local_slices(self) -> list[JsonObject]:
        made = []
        for item in self.nodes:
            name = item["metadata"]["name"]
            for driver in DRIVERS:
                if self._draw.chance(0.9):
                    made += self._pool(driver, f"{name}-pool", {"nodeName": name})
        return made

    def _shared_slices(self) -> list[JsonObject]:
        """Devices that several nodes reach."""
        draw, made = self._draw, []
        if draw.chance(0.3):
            made += self._pool(DRIVERS[1], "everywhere", {"allNodes": True})
        if draw.chance(0.3):
            term = {"matchExpressions": [{"key": RACK, "operator": "In", "values": ["x"]}]}
            made += self._pool(DRIVERS[1], "rack-x", {"nodeSelector": {"nodeSelectorTerms": [term]}})
        return made

    def _pool(self, driver: str, name: str, reach: JsonObject) -> list[JsonObject]:
        """A pool of one or two slices, or one that lacks a slice."""
        draw = self._draw
        if draw.chance(0.15):
            return self._partitioned(driver, name, reach)
        count = draw.choice((1, 1, 1, 2))
        lacking = 1 if draw.chance(0.08) else 0
        pool = {"name": name, "generation": draw.randint(1, 3), "resourceSliceCount": count + lacking}
        made = []
        for part in range(count):
            named = 0 if draw.chance(0.05) else part  # the same names in two slices make no sense
            devices = [self._device(driver, f"d-{named}-{number}") for number in draw.times(2, 6)]
            spec = {"driver": driver, "pool": pool, "devices": devices, **reach}
            made.append(resource("ResourceSlice", f"{name}-{driver}-{part}", spec))
        return made

    def _partitioned(self, driver: str, name: str, reach: JsonObject) -> list[JsonObject]:
        """A device as a whole or in halves, which consume shared counters."""
        pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
        counters = [{"name": "whole", "counters": {"memory": {"value": "80Gi"}}}]
        devices = []
        for device, amount in (("half-0", "40Gi"), ("half-1", "40Gi"), ("whole", "80Gi")):
            made = self._device(driver, device, plain=True)
            made["capacity"] = {"memory": {"value": amount}}
            made["consumesCounters"] = [{"counterSet": "whole", "counters": {"memory": {"value": amount}}}]
            devices.append(made)
        of_pool = {"driver": driver, "pool": pool, **reach}
        return [
            resource("ResourceSlice", f"{name}-{driver}-0", {**of_pool, "sharedCounters": counters}),
            resource("ResourceSlice", f"{name}-{driver}-1", {**of_pool, "devices": devices}),
        ]

    def _device(self, driver: str, name: str, *, plain: bool = False) -> JsonObject:
        draw = self._draw
        attributes: JsonObject = {
            "model": {"string": draw.choice(MODELS)},
            "numa": {"int": draw.randint(0, 1)},
            "driverVersion": {"version": f"1.{draw.randint(0, 3)}.0"},
            "example.com/link": {"bool": draw.chance(0.5)},
        }
        made: JsonObject = {"name": name, "attributes": {k: v for k, v in attributes.items() if draw.chance(0.9)}}
        made["capacity"] = {"memory": {"value": draw.choice(("16Gi", "24Gi", "40Gi", "80Gi"))}}
        if not plain and draw.chance(0.15):
            taint = {"key": "example.com/worn", "effect": draw.choice(("NoSchedule", "NoExecute", "None"))}
            made["taints"] = [taint]
        if not plain and draw.chance(0.15):
            made["allowMultipleAllocations"] = True
            if draw.chance(0.5):
                steps = {"min": "4Gi", "step": "4Gi"}
                made["capacity"]["memory"]["requestPolicy"] = {"default": "8Gi", "validRange": steps}
        return made

    # Demand
    def pod(self, name: str, namespace: str) -> tuple[JsonObject, list[JsonObject]]:
        """A pod, and the claims that it uses."""
        draw = self._draw
        extended = draw.chance(0.2)
        # Claims beside what a node offers as such are more than kube-scheduler can do.
        number = 0 if extended else draw.choice((1, 1, 1, 1, 2))
        claims = [self.claim(f"{name}-{index}", namespace) for index in range(number)]
        names = [each["metadata"]["name"] for each in claims]
        if self.placed and not extended and draw.chance(0.12):
            names.append(draw.choice(self.placed))
        spec: JsonObject = {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in names]}
        if draw.chance(0.3):
            spec["nodeSelector"] = {HOSTNAME: draw.choice(self.nodes)["metadata"]["name"]}
        made = pod(name, namespace, cpu=draw.choice(("130m", "270m", "410m")), **spec)
        if extended:
            self._ask_for_extended_resource(made["spec"])
        return made, claims

    def _ask_for_extended_resource(self, spec: JsonObject) -> None:
        """In a container, and sometimes in another one that comes and goes before it."""
        (container,) = spec["containers"]
        if self._draw.chance(0.3):
            first = {"name": "first", "image": "example.com/app:1", "resources": {"requests": {}}}
            spec["initContainers"] = [first]
        for each in (container, *spec.get("initContainers", ())):
            amount = {EXTENDED: str(self._draw.randint(1, 2))}
            each["resources"] = {"requests": {**each["resources"]["requests"], **amount}, "limits": amount}

    def claim(self, name: str, namespace: str) -> JsonObject:
        draw = self._draw
        requests = [self._request(f"r{number}") for number in range(draw.choice((1, 1, 1, 2)))]
        devices: JsonObject = {"requests": requests}
        if draw.chance(0.25):
            sort = draw.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            named = f"{draw.choice(DRIVERS)}/{draw.choice(('model', 'numa', 'driverVersion'))}"
            devices["constraints"] = [{sort: draw.choice((named, "example.com/link"))}]
        return resource("ResourceClaim", name, {"devices": devices}, namespace)

    def _request(self, name: str) -> JsonObject:
        draw = self._draw
        if draw.chance(0.25):
            subs = [{"name": f"s{number}", **self._exactly()} for number in range(draw.randint(1, 3))]
            return {"name": name, "firstAvailable": subs}
        return {"name": name, "exactly": self._exactly()}

    def _exactly(self) -> JsonObject:
        draw = self._draw
        made: JsonObject = {"deviceClassName": draw.choice((*DRIVERS, *DRIVERS, _ANY))}
        if draw.chance(0.02):
            made["deviceClassName"] = "nobody-has-this"
        if draw.chance(0.02):
            made["count"] = 1_000_000
        elif draw.chance(0.08):
            made["allocationMode"] = "All"
        elif draw.chance(0.25):
            made["count"] = 2
        if draw.chance(0.4):
            made["selectors"] = [_cel(self._expression(made["deviceClassName"]))]
        if draw.chance(0.2):
            made["tolerations"] = [{"operator": "Exists", **({"effect": "NoSchedule"} if draw.chance(0.5) else {})}]
        if draw.chance(0.15):
            made["capacity"] = {"requests": {"memory": draw.choice(("4Gi", "10Gi", "30Gi"))}}
        return made

    def _expression(self, driver: str) -> str:
        """Mostly about devices that the class has."""
        draw, model = self._draw, self._draw.choice(MODELS)
        if driver == _ANY or draw.chance(0.1):
            driver = draw.choice(DRIVERS)
        facts, sizes = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
        return draw.choice(
            (
                f'device.driver == "{driver}"',
                f'{facts}.?model.orValue("") == "{model}"',
                f'"model" in {facts} && {facts}.model in ["{model}", "ant"]',
                f'"numa" in {facts} && {facts}.numa == {draw.randint(0, 1)}',
                f'"driverVersion" in {facts} && {facts}.driverVersion.isGreaterThan(semver("1.1.0"))',
                f'"memory" in {sizes} && {sizes}.memory.compareTo(quantity("40Gi")) >= 0',
                'has(device.attributes["example.com"].link) && device.attributes["example.com"].link',
                "device.allowMultipleAllocations == false",
                f'{facts}.nonexistent == "x"',
                f'{facts}.model == "{model}"',
            )
        )


def _cel(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}
