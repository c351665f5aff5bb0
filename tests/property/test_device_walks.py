"""Random walks: whatever is refused, lost or late, no device is given to two claims, and none is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from tests.builders import node, pod
from tests.unit.plugins.dynamic_resources.devices import CLASS, Devices, claim, devices, using

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Bind, Failure, Instruction, Write

NODES, DEVICES, STEPS = 3, 3, 250
ALL = NODES * DEVICES


class Walk:
    """A cluster to which one thing after the other happens, in an order that follows from the seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        names = [f"n-{number}" for number in range(NODES)]
        self.host = Devices(CLASS, *map(node, names), *(devices(name, DEVICES) for name in names))
        self._made = 0
        self._steps: list[tuple[int, Callable[[], None]]] = [
            (6, self._arrive),
            (3, self._arrive_with_extended_resource),
            (2, self._leave),
            (1, self._share),
            (14, self._schedule),
            (25, self._do),
            (5, self._refuse),
            (4, self._lose),
            (14, self._tell),
            (6, self._pass_time),
        ]

    def run(self, steps: int) -> None:
        weights = [weight for weight, _ in self._steps]
        for _ in range(steps):
            (_, step) = self._draw.choices(self._steps, weights)[0]
            step()
            self.check()

    def check(self) -> None:
        held = Counter(device for item in self._claims() for device in self.host.given(item.metadata.name))
        assert all(count == 1 for count in held.values()), held

    def finish(self) -> None:
        """Nothing goes wrong any more: all that was begun comes to its end."""
        self.host.settle()
        for _ in range(40):
            self._collect_garbage()
            self.host.advance(10)
        self.check()

    def _collect_garbage(self) -> None:
        pods = {each.metadata.uid for each in self._pods()}
        for item in self._claims():
            if any(owner.uid not in pods for owner in item.metadata.owner_references):
                self.host.world.delete(item)

    def _claims(self) -> list[api.ResourceClaim]:
        return list(self.host.world.all(api.ResourceClaim))

    def _pods(self) -> list[api.Pod]:
        return list(self.host.world.all(api.Pod))

    def _arrive(self) -> None:
        if len(self._pods()) < ALL + 2:
            self._made += 1
            name = f"c-{self._made}"
            self.host.world.put(claim(name))
            self.host.world.put(api_pod(using(f"p-{self._made}", name)))

    def _arrive_with_extended_resource(self) -> None:
        """The scheduler itself makes the claim of such a pod."""
        if len(self._pods()) < ALL + 2:
            self._made += 1
            self.host.world.put(api_pod(pod(f"p-{self._made}", requests={"example.com/gpu": "1"})))

    def _share(self) -> None:
        """Another pod for a claim that is there."""
        named = [item for item in self._claims() if not item.metadata.owner_references]
        if named and len(self._pods()) < ALL + 2:
            self._made += 1
            name = self._draw.choice(named).metadata.name
            self.host.world.put(api_pod(using(f"p-{self._made}", name)))

    def _leave(self) -> None:
        """A pod goes, and what controllers do then."""
        if not self._pods():
            return
        gone = self._draw.choice(self._pods())
        self.host.world.delete(gone)
        used = {name for each in self._pods() for name in claims_of(each)}
        for item in self._claims():
            name, owners = item.metadata.name, {owner.uid for owner in item.metadata.owner_references}
            if gone.metadata.uid in owners or (name in claims_of(gone) and name not in used):
                self.host.world.delete(item)

    def _schedule(self) -> None:
        self.host.engine.schedule_one()

    def _open(self) -> Instruction | None:
        self.host.take()
        return self._draw.choice(self.host.open) if self.host.open else None

    def _do(self) -> None:
        if (found := self._open()) is not None:
            self.host.do(found)

    def _refuse(self) -> None:
        found = self._open()
        if isinstance(found, Write | Bind):
            self.host.do(found, Failure("no", self._draw.choice(("Conflict", "InternalError"))))

    def _lose(self) -> None:
        """An answer gets lost, whether or not the request was carried out."""
        found = self._open()
        if isinstance(found, Write):
            if self._draw.random() < 0.5:
                self.host.world.execute(found)
            self.host.do(found, Failure("no answer", "Timeout"))

    def _tell(self) -> None:
        self.host.undelivered += self.host.world.changes()
        for _ in range(self._draw.randint(1, 4)):
            if self.host.undelivered:
                self.host.deliver_one()

    def _pass_time(self) -> None:
        self.host.pass_time(self.host.clock.now + self._draw.choice((0.01, 0.1, 1.0, 10.0)))


def claims_of(item: api.Pod) -> list[str]:
    return [entry.resource_claim_name or "" for entry in item.spec.resource_claims]


def api_pod(item: dict[str, object]) -> api.Pod:
    return codec.convert(api.Pod, item)


@pytest.mark.parametrize("seed", range(25))
def test_no_device_is_given_twice_and_none_is_lost(seed: int) -> None:
    walk = Walk(seed)
    walk.run(STEPS)
    walk.finish()
    host = walk.host
    given = {device for item in host.world.all(api.ResourceClaim) for device in host.given(item.metadata.name)}
    assert host.taken() == given, "what is thought to be taken is"
    for item in host.world.all(api.ResourceClaim):
        assert host.tracker.pending(item) is None
    waiting = [each for each in host.world.all(api.Pod) if not each.spec.node_name]
    alone = [each for each in waiting if not any(host.given(name) for name in claims_of(each))]
    assert len(given) == ALL or not alone, "whoever has no device would have got one that is left"
    owners = {each.metadata.uid for each in host.world.all(api.Pod) if each.spec.node_name}
    # One whose making got lost may be left without devices, until its pod goes.
    made = [item for item in host.world.all(api.ResourceClaim) if item.status.allocation is not None]
    makers = [owner.uid for item in made for owner in item.metadata.owner_references]
    assert len(makers) == len(set(makers)), "one claim for the extended resources of a pod"
    assert set(makers) <= owners, "none is left of attempts that failed"
