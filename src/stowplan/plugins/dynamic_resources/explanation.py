"""Rejections by DynamicResources in words: the devices of the node for each request, and who holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.near_names import near_names
from stowplan.api.selector_words import listed, node_selector_in_words
from stowplan.cache import Store
from stowplan.plugins.dynamic_resources.allocation import AllocationFailure, DeviceID, Solution
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import NodePools
from stowplan.plugins.dynamic_resources.allocation.requests import WantedClaim
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.claims import PodClaim, PodClaims, is_controlled_by, key
from stowplan.plugins.dynamic_resources.device_inventory import NodeInventory, RequestInventory, Stage
from stowplan.plugins.dynamic_resources.extended_resources import needed_devices
from stowplan.plugins.dynamic_resources.filtering import NodeSearch
from stowplan.plugins.dynamic_resources.group_claims import GroupClaims
from stowplan.plugins.dynamic_resources.reasons import CANNOT_ALLOCATE, OUT_OF_REACH, STALE
from stowplan.plugins.dynamic_resources.selector_in_words import selector_words

_EFFORT = 4.0
_MAX_NAMED = 3


class DeviceExplanation:
    """The refusals of one pod."""

    def __init__(self, claims: PodClaims, tracker: ClaimTracker) -> None:
        self._claims = claims
        self._tracker = tracker
        self._users: dict[DeviceID, str] | None = None
        self._requests = 0
        """The requests of all claims that must be served."""
        self._counted: dict[int, list[list[RequestInventory]]] = {}

    def refusals(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        """Why the node cannot serve the claims."""
        needed = needed_devices(self._claims, node)
        if isinstance(needed, fwk.Status):
            yield from self._unserved_resources(needed, node)
            return
        search = self._claims.allocations
        if isinstance(search, NodeSearch) and (needed or self._claims.user):
            yield from self._unserved(search, needed, node)
        for item in self._claims:
            if not item.usable_on(node):
                yield _elsewhere(item)

    def _unserved_resources(self, status: fwk.Status, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        """Extended resources that neither the node nor devices offer, or a claim that an earlier attempt left."""
        if status is STALE and self._claims.special is not None:
            name = self._claims.special.claim.metadata.name
            text = f"claim {name} of an earlier attempt is still there"
            yield fwk.Refusal(id="devices.stale", reasons=status.reasons, text=text, facts={"claim": name})
            return
        for name, has_class in self._claims.extended.items():
            if not has_class and name not in node.node.status.allocatable:
                text = f"the node offers no {name}, and no device class serves it"
                facts = {"resource": name}
                yield fwk.Refusal(id="devices.none", reasons=status.reasons, text=text, wanted=name, facts=facts)

    def inventory(self, node: fwk.NodeInfo) -> list[list[RequestInventory]]:
        """The devices of the node for each request; empty if they cannot be counted."""
        known = self._counted.get(node.slot)
        if known is None:
            known = self._counted[node.slot] = self._count(node)
        return known

    def _count(self, node: fwk.NodeInfo) -> list[list[RequestInventory]]:
        needed = needed_devices(self._claims, node)
        search = self._claims.allocations
        if isinstance(needed, fwk.Status) or not isinstance(search, NodeSearch):
            return []
        wanted, pools = search.demand(needed).wanted, search.allocator.inventory.pools(node)
        if isinstance(wanted, AllocationFailure) or isinstance(pools, str):
            return []
        return NodeInventory(wanted, pools, node, search.allocator.allocated).requests()

    def _unserved(self, search: NodeSearch, needed: tuple[str, ...], node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        demand = search.demand(needed)
        if isinstance(demand.wanted, AllocationFailure):
            yield _error(demand.wanted.text)
            return
        if not demand.offers.is_known(node.slot):
            yield self._unknown(search, demand.wanted, node)
            return
        if isinstance(search.on(node, needed), Solution):
            return
        counted = self.inventory(node)
        self._requests = len(counted)
        found = [refusal for alternatives in counted if (refusal := self._short(alternatives)) is not None]
        yield from found or [_together(demand.wanted, counted)]

    def _unknown(self, search: NodeSearch, claims: tuple[WantedClaim, ...], node: fwk.NodeInfo) -> fwk.Refusal:
        """The search ended without a result: with an error, or because of its time limit."""
        pools = search.allocator.inventory.pools(node)
        if isinstance(pools, str):
            return _error(pools)
        invalid = [pool.name for pool in pools.pools if pool.invalid]
        if invalid:
            return _error(f"the pool {invalid[0]} is invalid: devices or counters contradict each other")
        if failed := _selector_error(claims, pools):
            return _error(failed)
        seconds = search.allocator.timeout
        return fwk.Refusal(
            id="devices.timeout",
            text=f"the search for devices was broken off after {seconds:g} s",
            facts={"seconds": seconds},
        )

    def _short(self, alternatives: list[RequestInventory]) -> fwk.Refusal | None:
        """The refusal of a request, about the alternative that comes nearest; None if one could be served."""
        if any(each.short_at is None for each in alternatives):
            return None
        nearest = max(alternatives, key=lambda each: (each.short_at or 0, -_missing(each)))
        refusal = self._of_stage(nearest)
        if len(alternatives) > 1:
            refusal = replace(refusal, text=f"{refusal.text} (closest of {len(alternatives)} alternatives)")
        return refusal

    def _of_stage(self, inventory: RequestInventory) -> fwk.Refusal:
        stage, need = inventory.short_at, inventory.need
        assert stage is not None
        name = inventory.wanted.device_class.metadata.name
        facts = self._facts(inventory)
        there = inventory.count(stage)
        if stage <= Stage.OF_CLASS:
            of_class = inventory.count(Stage.OF_CLASS)
            offers = f"offers {_devices(of_class)} of class {name}" if of_class else f"offers no device of class {name}"
            text = f"the node {offers}" + (f", {need:,} {_are(need)} wanted" if of_class else "")
            return _refusal("devices.none", inventory, text, facts)
        if stage == Stage.MATCHING:
            text, nearest = selector_words(inventory)
            return _refusal("devices.no-match", inventory, text, {**facts, **nearest}, lasting=True)
        if stage == Stage.TOLERATED:
            return _refusal("devices.tainted", inventory, _taints(inventory), facts)
        holders = self._holders(inventory)
        text = f"needs {need:,} of class {name}, {there:,} of {inventory.count(Stage.TOLERATED):,} {_are(there)} free"
        if holders:
            facts["holders"] = dict(holders.most_common(_MAX_NAMED))
            text += f"; {_held(holders)}"
        return _refusal("devices.taken", inventory, text, facts, self._fewer(inventory))

    def _facts(self, inventory: RequestInventory) -> dict[str, Any]:
        counts = ("published", "ofClass", "matching", "tolerated", "free")
        return {
            "claim": inventory.claim.key,
            "request": inventory.wanted.full_name,
            "class": inventory.wanted.device_class.metadata.name,
            "wanted": inventory.need,
            "requests": self._requests,
            **{name: inventory.count(stage) for name, stage in zip(counts, Stage, strict=True)},
        }

    def _fewer(self, inventory: RequestInventory) -> tuple[fwk.Change, ...]:
        """A smaller count in the claim; the effort orders nodes by the number of missing devices."""
        free, need = inventory.count(Stage.FREE), inventory.need
        if not free or inventory.wanted.takes_all:
            return ()
        where = f"in request {inventory.wanted.full_name} of claim {inventory.claim.key}"
        effort = _EFFORT + (need - free) / need
        return (fwk.Change(kind="device", on="cluster", text=f"count: {free} {where}", effort=effort),)

    def _holders(self, inventory: RequestInventory) -> Counter[str]:
        """The pods, or claims without a pod, that have devices which would do."""
        if self._users is None:
            self._users = {}
            for claim in self._tracker:
                allocation = claim.status.allocation or self._tracker.pending(claim)
                pods = [consumer.name for consumer in claim.status.reserved_for]
                user = f"{claim.metadata.namespace}/{pods[0]}" if pods else f"claim {key(claim)}"
                for result in () if allocation is None else allocation.devices.results:
                    self._users[result.driver, result.pool, result.device] = user
        free = {device.id for device in inventory.devices[Stage.FREE]}
        taken = [device.id for device in inventory.devices[Stage.TOLERATED] if device.id not in free]
        return Counter(self._users[each] for each in taken if each in self._users)


def explain_pod_claims(
    pod: fwk.Pod, tracker: ClaimTracker, classes: Store[api.DeviceClass], groups: GroupClaims
) -> Iterator[fwk.Refusal]:
    """The claims and device classes that keep the pod from every node."""
    generated = {status.name: status.resource_claim_name for status in pod.template.claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or generated.get(entry.name)
        if name is None:
            if entry.name in generated:
                continue
            text = (
                f"The ResourceClaim of {entry.name} is not made yet from template {entry.resource_claim_template_name}"
            )
            facts = {"claim": entry.name, "template": entry.resource_claim_template_name or ""}
            yield fwk.Refusal(id="claim.device-missing", text=text, facts=facts)
            continue
        claim = tracker.get(name, pod.namespace)
        if claim is None:
            yield _missing_claim(pod, tracker, name)
        elif claim.metadata.deletion_timestamp is not None:
            text = f"ResourceClaim {name} is being deleted"
            yield fwk.Refusal(id="claim.device-deleting", text=text, lasting=True, facts={"claim": name})
        elif (
            entry.resource_claim_name is None
            and not is_controlled_by(claim, pod)
            and groups.owner_problem(pod, claim) != ""
        ):
            text = f"ResourceClaim {name} has the name that {entry.name} needs, and was not made for this pod"
            yield fwk.Refusal(id="claim.device-not-owned", text=text, lasting=True, facts={"claim": name})
        elif claim.status.allocation is None and tracker.pending(claim) is not None:
            text = f"Devices of ResourceClaim {name} are being allocated for another pod"
            yield fwk.Refusal(id="claim.device-allocating", text=text, facts={"claim": name})
        elif claim.status.allocation is None:
            yield from _missing_classes(claim, classes)


def requests_in_words(counted: list[list[RequestInventory]]) -> fwk.Requirement | None:
    """The requested devices, and the free ones."""
    if not counted:
        return None
    wanted = [f"{each[0].need:,} of class {each[0].wanted.device_class.metadata.name}" for each in counted]
    there = [f"{each[0].count(Stage.FREE):,} of {each[0].count(Stage.TOLERATED):,} free" for each in counted]
    return fwk.Requirement(", ".join(wanted), ", ".join(there))


def alternatives_in_words(solution: Solution) -> str:
    """The alternatives that the score counts: `takes t4, alternative 2 of request gpu`."""
    taken = dict.fromkeys(item.wanted for picked in solution.picked for item in picked if item.wanted.parent)
    return ", ".join(f"takes {each.name}, alternative {each.rank + 1} of request {each.parent}" for each in taken)


def _missing_claim(pod: fwk.Pod, tracker: ClaimTracker, name: str) -> fwk.Refusal:
    own = [claim.metadata.name for claim in tracker if claim.metadata.namespace == pod.namespace]
    elsewhere = sorted(claim.metadata.namespace for claim in tracker if claim.metadata.name == name)
    notes = [f"Namespace {pod.namespace} has a ResourceClaim {near}." for near in near_names(name, own)[:1]]
    notes += [f"Namespace {other} has a ResourceClaim {name}." for other in elsewhere[:1]]
    return fwk.Refusal(
        id="claim.device-missing",
        text=f"ResourceClaim {name} does not exist in namespace {pod.namespace}",
        facts={"claim": name, "namespace": pod.namespace},
        notes=tuple(notes),
    )


def _missing_classes(claim: api.ResourceClaim, classes: Store[api.DeviceClass]) -> Iterator[fwk.Refusal]:
    for request in claim.spec.devices.requests:
        exactly = [] if request.exactly is None else [(request.name, request.exactly.device_class_name)]
        subs = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
        for name, class_name in (*exactly, *subs):
            if class_name and classes.get(class_name) is None:
                near = near_names(class_name, [each.metadata.name for each in classes])
                of = f"Request {name} of ResourceClaim {claim.metadata.name}"
                yield fwk.Refusal(
                    id="class.device-missing",
                    text=f"{of} asks for device class {class_name}, which does not exist",
                    facts={"claim": claim.metadata.name, "request": name, "class": class_name},
                    notes=(f"There is a device class {near[0]}.",) if near else (),
                )


def _refusal(
    identifier: str,
    inventory: RequestInventory,
    text: str,
    facts: dict[str, Any],
    changes: tuple[fwk.Change, ...] = (),
    *,
    lasting: bool = False,
) -> fwk.Refusal:
    name = inventory.wanted.device_class.metadata.name
    return fwk.Refusal(
        id=identifier,
        reasons=CANNOT_ALLOCATE.reasons,
        text=text,
        wanted=f"{inventory.need:,} of class {name}",
        there=f"{inventory.count(Stage.FREE):,} free",
        rule=f"with {_devices(inventory.need)} of class {name} free",
        lasting=lasting,
        facts=facts,
        changes=changes,
    )


def _together(claims: tuple[WantedClaim, ...], counted: list[list[RequestInventory]]) -> fwk.Refusal:
    """Each request alone could be served."""
    text = _constraint_text(claims, counted)
    if not text:
        sharing = any(device.consumes for each in counted for device in each[0].devices[Stage.FREE])
        only = "its devices" if len(counted) == 1 else "each request alone could be served, but not together"
        same = "they share what is left of the counters of a pool" if sharing else "they want the same devices"
        text = f"{only} cannot be had together: {same}" if len(counted) == 1 else f"{only}: {same}"
    wanted = ", ".join(f"{each[0].need:,} of class {each[0].wanted.device_class.metadata.name}" for each in counted)
    facts = {"claims": [claim.key for claim in claims]}
    return fwk.Refusal(
        id="devices.together",
        reasons=CANNOT_ALLOCATE.reasons,
        text=text,
        wanted=wanted,
        rule=f"with {wanted} free together",
        facts=facts,
    )


def _constraint_text(claims: tuple[WantedClaim, ...], counted: list[list[RequestInventory]]) -> str:
    for claim in claims:
        for constraint in claim.claim.spec.devices.constraints:
            concerned = [
                each[0]
                for each in counted
                if each[0].claim is claim
                and len(each) == 1
                and (not constraint.requests or each[0].wanted.base in constraint.requests)
            ]
            need = sum(each.need for each in concerned)
            free = {device.id: device for each in concerned for device in each.devices[Stage.FREE]}
            if constraint.match_attribute is not None:
                most = max(_groups(free.values(), constraint.match_attribute).values(), default=0)
                if most < need:
                    name = constraint.match_attribute.rpartition("/")[2]
                    have = "has" if most == 1 else "have"
                    return f"at most {most:,} free {_plural(most)} {have} the same {name}, {need:,} are wanted"
            elif constraint.distinct_attribute is not None:
                values = len(_groups(free.values(), constraint.distinct_attribute))
                if values < need:
                    name = constraint.distinct_attribute.rpartition("/")[2]
                    return f"the free devices have {values:,} different values of {name}, {need:,} are wanted"
    return ""


def _groups(devices: Any, attribute: str) -> Counter[object]:
    """Devices by the value of an attribute, without those that have none."""
    return Counter(value for device in devices if (value := _attribute(device, attribute)) is not None)


def _attribute(device: PublishedDevice, name: str) -> object:
    return device.attribute(name)


def _elsewhere(item: PodClaim) -> fwk.Refusal:
    name = item.claim.metadata.name
    if item.failed:
        text = f"the devices of claim {name} failed, or did not become ready in time"
        return fwk.Refusal(id="devices.failed", reasons=OUT_OF_REACH.reasons, text=text, facts={"claim": name})
    assert item.reachable is not None
    fields = [field for term in item.reachable.terms for field in term.fields]
    if len(item.reachable.terms) == 1 and len(fields) == 1 and not item.reachable.terms[0].labels:
        where = fields[0].values[0]
        text = f"claim {name} has devices of {where} already, so the pod must go there"
    else:
        where = node_selector_in_words(item.reachable)
        text = f"claim {name} has devices already, which can be reached from {where} only"
    return fwk.Refusal(
        id="devices.elsewhere",
        reasons=OUT_OF_REACH.reasons,
        text=text,
        wanted=where,
        rule=f"reaches the devices of claim {name}",
        facts={"claim": name, "reachable": where},
    )


def _selector_error(claims: tuple[WantedClaim, ...], pools: NodePools) -> str:
    """The error of a selector that cannot be compiled, or that failed for a device; empty if none is known."""
    wanted = [each for claim in claims for alternatives in claim.requests for each in alternatives]
    for owner, number, selector in [entry for each in wanted for entry in each.selectors]:
        if selector.error is not None:
            return f"selector {number + 1} of {owner} cannot be compiled: {selector.error}"
        for device, _ in pools.candidates:
            verdict = device.known_verdict(selector)
            if isinstance(verdict, str):
                return f"selector {number + 1} of {owner} fails for device {device.spec.name}: {verdict}"
    return ""


def _error(text: str) -> fwk.Refusal:
    return fwk.Refusal(id="devices.error", text=f"the search for devices failed: {text}", facts={"error": text})


def _taints(inventory: RequestInventory) -> str:
    tolerated = {device.id for device in inventory.devices[Stage.TOLERATED]}
    tainted = [device for device in inventory.devices[Stage.MATCHING] if device.id not in tolerated]
    taint = tainted[0].blocking[0]
    name = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    all_, matching = len(tainted), inventory.count(Stage.MATCHING)
    who = f"{all_:,} of the {_devices(matching)} that match" if matching > 1 else "the only device that matches"
    have = "has" if all_ == 1 else "have"
    return f"{who} {have} taints that request {inventory.wanted.full_name} does not tolerate, such as {name}"


def _held(holders: Counter[str]) -> str:
    if len(holders) > _MAX_NAMED:
        return f"{sum(holders.values()):,} are held by {len(holders):,} others, such as {holders.most_common(1)[0][0]}"
    parts = [f"{number:,} {_are(number)} held by {name}" for name, number in sorted(holders.items())]
    return listed(parts)


def _missing(inventory: RequestInventory) -> float:
    stage = inventory.short_at
    return 0.0 if stage is None else (inventory.need - inventory.count(stage)) / inventory.need


def _devices(number: int) -> str:
    return f"{number:,} {_plural(number)}"


def _plural(number: int) -> str:
    return "device" if number == 1 else "devices"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
