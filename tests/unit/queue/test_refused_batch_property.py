"""Whatever happens to equal pods that are refused together, each is in one place and keeps its counters."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.queue.fakes import NODE_ADD, PLACES, Rig, make_pod

from stowplan.framework import QueuedPodInfo
from stowplan.queue.refused_batch import RefusedBatch

PODS = {
    f"{app}{i}": make_pod(f"{app}{i}", namespace=namespace, labels={"app": app})
    for app, namespace in (("a", "mild"), ("b", "mild"), ("c", "hostile"))
    for i in range(3)
}
"""Three pods of each of three templates."""
NAMES = st.sampled_from(sorted(PODS))
MESSAGE = "no room"


class BatchMachine(RuleBasedStateMachine):
    """The queue beside the number of attempts of each pod, as the caller counted them."""

    share = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(start=50.25, join_seconds=0.05, max_namespace_share=self.share)
        self.queue = self.rig.queue
        self.attempts: Counter[str] = Counter()
        self.known: set[str] = set()
        self.flying: dict[str, QueuedPodInfo] = {}

    @initialize(names=st.permutations(sorted(PODS)))
    def add_all(self, names: list[str]) -> None:
        """Templates by turns, so that batches overlap in time."""
        for name in names:
            self.add(name)

    @rule(name=NAMES)
    def add(self, name: str) -> None:
        if name not in self.known:
            self.known.add(name)
            self.queue.add(PODS[name])

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.queue.remove(PODS[name])
        if name not in self.flying:
            self.known.discard(name)
            del self.attempts[name]

    @rule(fits=st.booleans(), seconds=st.sampled_from([0.0, 0.001, 0.03]))
    def try_all(self, fits: bool, seconds: float) -> None:
        """Batches are refused together, unless a pod might fit: then each pod is tried and refused."""
        while (popped := self.queue.pop()) is not None:
            if isinstance(popped, RefusedBatch) and not fits:
                self.attempts.update(pod.name for pod in popped.pods)
                popped.refused(self.rig.clock.now)
                self.queue.refuse_batch(popped)
            else:
                info = self.queue.pop_first(popped) if isinstance(popped, RefusedBatch) else popped
                self.popped(info)
                self.refuse(info)
            self.rig.clock.now += seconds

    @rule()
    def pop(self) -> None:
        popped = self.queue.pop()
        if popped is not None:
            self.popped(self.queue.pop_first(popped) if isinstance(popped, RefusedBatch) else popped)

    def popped(self, info: QueuedPodInfo) -> None:
        name = info.pod.name
        assert name not in self.flying
        self.attempts[name] += 1
        assert info.attempts == self.attempts[name]
        self.flying[name] = info

    def refuse(self, info: QueuedPodInfo) -> None:
        del self.flying[info.pod.name]
        info.unschedulable_plugins = {"Adds"}
        assert self.queue.add_unschedulable(info, MESSAGE, has_condition=True)
        self.queue.done(info.pod.uid)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 8), binds=st.booleans())
    def end_attempt(self, which: int, binds: bool) -> None:
        name = sorted(self.flying)[which % len(self.flying)]
        if not binds:
            self.refuse(self.flying[name])
            return
        self.queue.done(self.flying.pop(name).pod.uid)
        self.known.discard(name)
        del self.attempts[name]

    @rule()
    def move(self) -> None:
        self.queue.move(NODE_ADD, None, "helps")

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        self.queue.activate([PODS[name]])

    @rule(name=NAMES, message=st.sampled_from([MESSAGE, "something else"]))
    def condition_changes(self, name: str, message: str) -> None:
        self.queue.condition_changed(PODS[name].uid, message)

    @rule(namespace=st.sampled_from(["mild", "hostile", "other"]), pops=st.booleans())
    def charge(self, namespace: str, pops: bool) -> None:
        if pops:
            self.pop()
        self.queue.charge(namespace, 1.0)
        self.pop()

    @rule(seconds=st.sampled_from([0.01, 1.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.rig.clock.now += seconds
        self.queue.tick()

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        places = Counter(info.pod.name for place in PLACES for info in getattr(self.queue, place))
        assert places == Counter(self.known)
        assert sum(self.queue.counts().values()) == len(self.known) - len(self.flying)

    @invariant()
    def attempts_are_those_that_were_made(self) -> None:
        for name in self.known:
            found = self.queue.place_of(PODS[name].uid)
            assert found is not None
            assert found[1].attempts == self.attempts[name]


class ThrottledBatchMachine(BatchMachine):
    """Namespaces may have to wait, so that batches are dissolved."""

    share = 0.25


TestBatches = BatchMachine.TestCase
TestBatches.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestThrottledBatches = ThrottledBatchMachine.TestCase
TestThrottledBatches.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
