"""Random walks: whatever is refused, lost or late, no device is given to two claims, and none is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from tests.builders import node
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
            self.host.advance(10)
        self.check()

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

    def _share(self) -> None:
        """Another pod for a claim that is there."""
        if self._claims() and len(self._pods()) < ALL + 2:
            self._made += 1
            name = self._draw.choice(self._claims()).metadata.name
            self.host.world.put(api_pod(using(f"p-{self._made}", name)))

    def _leave(self) -> None:
        """A pod goes, and what controllers do then."""
        if not self._pods():
            return
        pod = self._draw.choice(self._pods())
        self.host.world.delete(pod)
        name = pod.spec.resource_claims[0].resource_claim_name or ""
        others = [each for each in self._pods() if each.spec.resource_claims[0].resource_claim_name == name]
        if not others and self.host.world.get(api.ResourceClaim, name, "default") is not None:
            self.host.world.delete(self.host.claim(name))

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
        self.host.untold += self.host.world.changes()
        for _ in range(self._draw.randint(1, 4)):
            if self.host.untold:
                self.host.tell_one()

    def _pass_time(self) -> None:
        self.host.pass_time(self.host.clock.now + self._draw.choice((0.01, 0.1, 1.0, 10.0)))


def api_pod(item: dict[str, object]) -> api.Pod:
    return codec.convert(api.Pod, item)


@pytest.mark.parametrize("seed", range(25, 700))
def test_no_device_is_given_twice_and_none_is_lost(seed: int) -> None:
    walk = Walk(seed)
    walk.run(STEPS)
    walk.finish()
    host = walk.host
    given = {device for item in host.world.all(api.ResourceClaim) for device in host.given(item.metadata.name)}
    assert host.taken() == given, "what is thought to be taken is"
    for item in host.world.all(api.ResourceClaim):
        assert host.tracker.pending(item) is None
    waiting = [pod for pod in host.world.all(api.Pod) if not pod.spec.node_name]
    alone = [pod for pod in waiting if not host.given(pod.spec.resource_claims[0].resource_claim_name or "")]
    assert len(given) == ALL or not alone, "whoever has no device would have got one that is left"
