"""Plugins that act by a pod's labels. Several nodes in one value are separated by `_`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from stowplan import Plugin, Pod, reject, reject_forever
from stowplan.extender import PodWriter, Reservations

SEATS = 2


def named(pod: Pod, label: str) -> list[str]:
    return pod.labels.get(label, "").split("_")


class LabelDriven(Plugin):
    """Filters, scores and chooses victims by label."""

    name = "LabelDriven"
    scope = "cluster"

    def filter(self, state: Any, pod: Pod, node: Any) -> Any:
        if pod.labels.get("trouble") == "raises":
            raise RuntimeError("the licence server is down")
        if pod.labels.get("trouble") == "hangs":
            time.sleep(3600)
        if node.name in named(pod, "refuse"):
            return reject("wrong colour")
        if node.name in named(pod, "refuse-forever"):
            return reject_forever("wrong planet")
        return None

    def score(self, state: Any, pod: Pod, node: Any) -> float:
        return 100 if node.name == pod.labels.get("prefer") else 0

    def select_victims(self, state: Any, pod: Pod, victims: Mapping[str, Iterable[Pod]]) -> Mapping[str, Iterable[Pod]]:
        return {node: pods for node, pods in victims.items() if node not in named(pod, "protect")}


class Seats(Plugin):
    """Every node has some numbered seats, and a pod takes one: it is reserved, written down, and only then bound."""

    name = "Seats"
    scope = "cluster"
    needs_objects = True

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.held = Reservations[int](handle)
        self.pods = PodWriter(handle)

    def filter(self, state: Any, pod: Pod, node: Any) -> Any:
        return None if self.free(pod, node, self.held.on(node)) is not None else reject("no seat is free")

    def free(self, pod: Pod, node: Any, held: Mapping[str, int]) -> int | None:
        """A seat that is neither promised to another pod nor taken by one that is there."""
        taken = {seat for uid, seat in held.items() if uid != pod.uid}
        taken |= {seat_of(other) for uid, other in node.pods.items() if uid not in held}
        return next((seat for seat in range(SEATS) if seat not in taken), None)

    def reserve(self, state: Any, pod: Pod, node_name: str) -> Any:
        node = self.handle.node_info(node_name)
        seat = None if node is None else self.held.claim(pod, node, lambda held: self.free(pod, node, held))
        state.write("seat", seat)
        return None if seat is not None else reject("no seat is free any more")

    def unreserve(self, state: Any, pod: Pod, node_name: str) -> None:
        self.held.release(pod.uid)

    async def pre_bind(self, state: Any, pod: Pod, node_name: str) -> Any:
        return await self.pods.annotate(pod, {"example.com/seat": str(state.read("seat"))})


def seat_of(pod: Pod) -> int | None:
    seat = (pod.object["metadata"].get("annotations") or {}).get("example.com/seat")
    return None if seat is None else int(seat)
