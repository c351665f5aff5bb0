"""An engine that receives random objects and schedules."""

from __future__ import annotations

import gc
import statistics
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.cel import DeviceValue, compile_selector
from stowplan.cel.cost import CPU_LIMIT_SECONDS
from stowplan.framework import PatchStatus
from stowplan.testing import node, pod
from stowplan.testing.objects import JsonObject

MAX_RATIO = 100.0
"""The longest decision, in multiples of the median."""
MAX_SELECTOR_SECONDS = 1.5 * CPU_LIMIT_SECONDS
"""CPU time of compiling a selector and evaluating it for a device."""
MAX_CYCLES_PER_OBJECT = 3
DEVICE = DeviceValue(
    "gpu.example.com",
    api.Device(
        name="gpu-0",
        attributes={"model": api.DeviceAttribute(string_value="a"), "number": api.DeviceAttribute(int_value=1)},
        capacity={"memory": api.DeviceCapacity(value="40Gi")},
    ),
)
BUG = "internal error"


@dataclass
class Findings:
    objects: int = 0
    selectors: int = 0
    decisions: list[float] = field(default_factory=list)
    """Seconds of each scheduling cycle, in the order in which they ran."""
    problems: list[str] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.decisions) if self.decisions else 0.0

    @property
    def ratio(self) -> float:
        return max(self.decisions) / self.median if self.decisions else 0.0


class Trial:
    """Feeds batches to engines, each batch to an engine of its own."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._json: dict[str, str] = {}
        """The pods of the batch."""
        self.slowest: tuple[float, str] = (0.0, "")
        """Seconds and JSON of the pod whose decision took longest."""

    def problems(self) -> list[str]:
        """All problems, with the longest decision if it took too long."""
        findings = self.findings
        if findings.ratio <= MAX_RATIO:
            return findings.problems
        late = f"a decision took {findings.ratio:.0f} times the median of {1000 * findings.median:.3f} ms"
        return [*findings.problems, f"{late}: {self.slowest[1]}"]

    def run(self, batch: list[JsonObject]) -> None:
        """Feed a batch, without the collector of cycles: its pauses belong to no decision."""
        gc.collect()
        gc.disable()
        try:
            self._run(batch)
        finally:
            gc.enable()

    def _run(self, batch: list[JsonObject]) -> None:
        self._json.clear()
        host = Host(check_invariants=False)
        for name in ("base-1", "base-2"):
            self._put(host, node(name))
        self._put(host, pod("base", "default"))
        for made in batch:
            self.findings.objects += 1
            try:
                self._put(host, made)
                self._ask(made)
                self._schedule(host, MAX_CYCLES_PER_OBJECT)
            except Exception:
                self.findings.problems.append(f"{traceback.format_exc()}\n{msgspec.json.encode(made).decode()}")
                return
        self._empty(host)

    def _put(self, host: Host, made: JsonObject) -> None:
        """Decode the object as a reflector does, and deliver it."""
        made["metadata"].setdefault("uid", f"{made['kind']}/{made['metadata']['name']}")
        text = msgspec.json.encode(made)
        if made["kind"] == "Pod":
            self._json[made["metadata"]["name"]] = text.decode()
        host.put(codec.decode(KINDS[made["kind"]].struct, text))

    def _ask(self, made: JsonObject) -> None:
        """Evaluate the selectors of an object: decisions evaluate those of few claims."""
        for expression in _expressions(made):
            began = time.thread_time()
            selector = compile_selector(expression)
            answer = selector.error or selector.matches(DEVICE)
            seconds = time.thread_time() - began
            self.findings.selectors += 1
            if seconds > MAX_SELECTOR_SECONDS or BUG in str(answer):
                self.findings.problems.append(f"selector took {seconds:.1f} s, returned {answer}: {expression}")

    def _schedule(self, host: Host, cycles: int) -> None:
        host.pass_time(host.clock.now + 0.1)
        for _ in range(cycles):
            began = time.thread_time()
            if not host.engine.schedule_one():
                break
            seconds = time.thread_time() - began
            self.findings.decisions.append(seconds)
            last = host.engine._cycles.last
            if seconds > self.slowest[0] and last is not None:
                self.slowest = (seconds, self._json.get(last.pod.name, last.pod.name))
            host.settle()
        for instruction in host.done:
            if isinstance(instruction, PatchStatus) and instruction.condition is not None:
                message = instruction.condition.message
                if BUG in message:
                    self.findings.problems.append(f"{instruction.pod.name}: {message}")
        host.done.clear()

    def _empty(self, host: Host) -> None:
        """Delete everything again; nothing may be left in the cache."""
        try:
            everything = list(chain.from_iterable(list(host.world.all(kind.struct)) for kind in KINDS.values()))
            host.delete(*everything)
            host.settle()
            left = len(host.engine.cluster.pods) + len(host.engine.cluster.nodes)
        except Exception:
            self.findings.problems.append(traceback.format_exc())
            return
        if left:
            self.findings.problems.append(f"{left} pods and nodes are left after everything was deleted")


def _expressions(value: Any) -> Iterator[str]:
    """All CEL expressions in an object."""
    if isinstance(value, list):
        yield from chain.from_iterable(map(_expressions, value))
    elif isinstance(value, dict):
        cel = value.get("cel")
        if isinstance(cel, dict) and isinstance(cel.get("expression"), str):
            yield cel["expression"]
        yield from chain.from_iterable(map(_expressions, value.values()))
