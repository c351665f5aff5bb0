"""Records a run: a row for each pod, job and node when it ends, values over time, and exact integrals."""

from __future__ import annotations

from collections import Counter

from stowplan import api
from stowplan.api.quantity import milli_value, value
from stowplan.engine import Observer
from stowplan.framework import Pod, QueuedPodInfo, Status
from stowplan.framework.decision_record import DecisionRecord
from stowplan.runtime import Decision
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.kubelet import EVICTED, LOST, PREEMPTED, Kubelet, LifeObserver, PodLife
from stowplan.simulator.scenario import LoadedScenario
from stowplan.simulator.scenario.pools import POOL_LABEL, ZONE_LABEL
from stowplan.study.integrals import TimeIntegrals
from stowplan.study.jobs import JobBook
from stowplan.study.placement_metrics import RequestClasses, WorkloadSpread
from stowplan.study.pod_requests import REQUEST_COLUMNS, RequestBook, gpu_milli
from stowplan.study.table import ResultTable

POD_COLUMNS = (
    "pod", "job", "workload", "tenant", "priority", "submitted", "first_attempt", "bound", "running", "ended", "node",
    "outcome", "attempts", "preempted", "lost_s", "waited_s", "work_s", *REQUEST_COLUMNS, "cause", "reason",
)  # fmt: skip
NODE_COLUMNS = (
    "node", "pool", "zone", "added", "ready", "removed", "price", "cpu_m", "memory", "gpu_m", "busy_s", "pods",
)  # fmt: skip
SERIES_COLUMNS = ("time", "metric", "key", "value")
ATTEMPT_COLUMNS = ("time", "pod", "result", "feasible", "node", "score", "runner_up", "reason")
EVENT_COLUMNS = ("time", "kind", "subject", "node", "detail")
INTERRUPTED = (PREEMPTED, EVICTED, LOST)


class _NodeBook:
    """A node that exists."""

    __slots__ = ("added", "amounts", "busy", "busy_since", "node", "pods", "price", "ready", "residents")

    def __init__(self, node: api.Node, now: float, price: float) -> None:
        self.node = node
        self.added = now
        self.ready: float | None = None
        self.price = price
        self.amounts: dict[str, int] = {}
        self.busy = 0.0
        self.busy_since = now
        self.pods = 0
        """Pods that were ever bound here."""
        self.residents = 0


class RunRecording(Observer, LifeObserver):
    """The tables and integrals of one run. Times are seconds since the scenario's start."""

    def __init__(self, scenario: LoadedScenario, *, with_events: bool, watched_pod: str = "") -> None:
        """`watched_pod` (namespace/name) is a pod whose decisions are kept as records."""
        self.scenario = scenario
        self.pods = ResultTable("pods", POD_COLUMNS)
        self.nodes = ResultTable("nodes", NODE_COLUMNS)
        self.series = ResultTable("series", SERIES_COLUMNS)
        self.events = ResultTable("events", EVENT_COLUMNS)
        self.attempts = ResultTable("attempts", ATTEMPT_COLUMNS)
        self.skews = WorkloadSpread()
        self.zones: Counter[str] = Counter()
        """Nodes by zone."""
        self.requested = RequestClasses()
        self._with_attempts = scenario.spec.record.attempts
        self.integrals = TimeIntegrals()
        self.requests = RequestBook(self.integrals)
        self.jobs = JobBook(scenario.start, self.requests)
        counted = (self.integrals.of(name) for name in ("pods", "pending", "running", "nodes.used"))
        self._pods, self._pending, self._running, self._used_nodes = counted
        self.created = self.ended = 0
        self.interrupted = 0
        self.decisions = 0
        self.has_tenants = False
        """Whether a pod of a tenant was bound."""
        self._start = scenario.start
        self._with_events = with_events
        self._watched_pod = watched_pod
        self.records: list[DecisionRecord] = []
        """Decisions about the watched pod."""
        self._kubelet: Kubelet | None = None
        self._books: dict[str, _NodeBook] = {}
        self._prices = {pool.name: pool.price for pool in scenario.pools}

    def begin(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet

    # The scheduler
    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.decisions += 1
        if self._watched_pod and queued.pod.key == self._watched_pod:
            self.records.append(decision.record(queued.attempts))
        if self._with_attempts:
            self._write_attempt(queued, decision)
        life = self._life(queued.pod)
        if life is not None:
            if life.first_attempt is None:
                life.first_attempt = self._now
            life.attempts = queued.attempts

    def _write_attempt(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """Scores are those of the best node and of the next one."""
        totals = decision.record(queued.attempts).totals if decision.node_name else {}
        best = totals.get(decision.node_name)
        others = [total for name, total in totals.items() if name != decision.node_name]
        time, result = _since(self._now, self._start), "scheduled" if decision.node_name else "unschedulable"
        runner_up = max(others, default=None)
        self.attempts.append(
            (time, queued.pod.key, result, decision.feasible, decision.node_name, best, runner_up, decision.message)
        )

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        life = self._life(queued.pod)
        if life is not None:
            life.attempts = queued.attempts
            life.reason = status

    def _life(self, pod: Pod) -> PodLife | None:
        assert self._kubelet is not None
        return self._kubelet.lives.get(pod.uid)

    @property
    def _now(self) -> float:
        assert self._kubelet is not None
        return self._kubelet.api_server.clock()

    # Pods
    def pod_created(self, life: PodLife) -> None:
        self.created += 1
        self._pods.add(1, life.created)
        self._pending.add(1, life.created)
        self.jobs.pod_created(life)
        self.requested.add(self.requests.of(life.pod).amounts)

    def pod_bound(self, life: PodLife) -> None:
        now = life.bound
        assert now is not None
        self._pending.add(-1, now)
        self._running.add(1, now)
        self._hold(life, 1, now)
        book = self._books.get(life.node)
        if book is not None:
            self.skews.add(life.workload, book.node.metadata.labels.get(ZONE_LABEL, ""), 1)
            book.pods += 1
            book.residents += 1
            if book.residents == 1:
                book.busy_since = now
                self._used_nodes.add(1, now)

    def _hold(self, life: PodLife, sign: int, now: float) -> None:
        """Count what a pod requests, from its binding (sign 1) to its end (sign -1)."""
        requests = self.requests.of(life.pod)
        for quantity, amount in requests.quantities:
            quantity.add(sign * amount, now)
        if tenant := life.tenant:
            self.has_tenants = True
            for resource, amount in requests.amounts.items():
                self.integrals.add(f"tenant.{tenant}.{resource}", sign * amount, now)

    def pod_running(self, life: PodLife) -> None:
        self.jobs.pod_running(life)

    def pod_ended(self, life: PodLife) -> None:
        now = life.ended
        assert now is not None
        self.ended += 1
        self._pods.add(-1, now)
        if life.bound is None:
            self._pending.add(-1, now)
        else:
            self._free(life, now)
        if life.outcome in INTERRUPTED:
            self.interrupted += 1
            if self._with_events:
                self.event(now, life.outcome, _name(life.pod), life.node, life.cause)
        self._write_pod(life)
        self.jobs.pod_ended(life)

    def pod_refused(self, name: str, message: str) -> None:
        self.event(self._now, "pod not created", name, "", message)

    def job_ended(self, name: str, outcome: str) -> None:
        self.jobs.job_ended(name, outcome)

    def _free(self, life: PodLife, now: float) -> None:
        self._running.add(-1, now)
        self._hold(life, -1, now)
        book = self._books.get(life.node)
        if book is not None:
            self.skews.add(life.workload, book.node.metadata.labels.get(ZONE_LABEL, ""), -1)
            book.residents -= 1
            if not book.residents:
                book.busy += now - book.busy_since
                self._used_nodes.add(-1, now)

    def _write_pod(self, life: PodLife) -> None:
        pod, start, bound, created, first = life.pod, self._start, life.bound, life.created, life.first_attempt
        submitted = to_microseconds(created - start)  # which many pods share with the times up to `running`
        reason = "" if bound is not None or life.reason is None else life.reason.message
        self.pods.append(
            (
                _name(pod), life.job, life.workload, life.tenant, pod.spec.priority or 0,
                submitted, submitted if first == created else _since(first, start),
                submitted if bound == created else _since(bound, start),
                submitted if life.running == created else _since(life.running, start),
                _since(life.ended, start), life.node, life.outcome, life.attempts,
                int(life.outcome == PREEMPTED), to_microseconds(life.lost),
                None if bound is None else to_microseconds(bound - created), life.work.seconds,
                *self.requests.of(pod).row, life.cause, reason,
            )
        )  # fmt: skip

    # Nodes
    def node_changed(self, old: api.Node | None, new: api.Node | None) -> None:
        now = self._now
        name = (new or old or api.Node()).metadata.name
        book = self._books.get(name)
        if book is None:
            assert new is not None
            price = self._prices.get(new.metadata.labels.get(POOL_LABEL, ""), 0.0)
            book = self._books[name] = _NodeBook(new, now, price)
            self.integrals.add("nodes", 1, now)
            self.integrals.add("cost", price / 3600, now)
            self._count_zone(new, 1)
            if now > self._start:
                self.event(now, "node added", name, name, "")
        self._count_amounts(book, new, now)
        if new is None:
            self._close(book, now)
            del self._books[name]
            self._count_zone(book.node, -1)
            self.integrals.add("nodes", -1, now)
            self.integrals.add("cost", -book.price / 3600, now)
            self.event(now, "node removed", name, name, "")
        else:
            book.node = new

    def _count_zone(self, node: api.Node, change: int) -> None:
        zone = node.metadata.labels.get(ZONE_LABEL, "")
        if zone:
            self.zones[zone] += change
            if not self.zones[zone]:
                del self.zones[zone]

    def node_event(self, kind: str, node: str, detail: str) -> None:
        self.event(self._now, kind, node, node, detail)

    def _count_amounts(self, book: _NodeBook, node: api.Node | None, now: float) -> None:
        """Allocatable amounts count while the node is Ready."""
        amounts = {} if node is None or not _is_ready(node) else _amounts(node)
        if amounts and book.ready is None:
            book.ready = now
        if amounts != book.amounts:
            for resource in {**amounts, **book.amounts}:
                change = amounts.get(resource, 0) - book.amounts.get(resource, 0)
                if change:
                    self.integrals.add(f"allocatable.{resource}", change, now)
            book.amounts = amounts

    def _close(self, book: _NodeBook, now: float, *, removed: bool = True) -> None:
        if book.residents:
            book.busy += now - book.busy_since
            if removed:
                self._used_nodes.add(-1, now)
        node, start = book.node, self._start
        amounts = _amounts(node)
        labels = node.metadata.labels
        self.nodes.append(
            (
                node.metadata.name, labels.get(POOL_LABEL, ""), labels.get(ZONE_LABEL, ""), _since(book.added, start),
                _since(book.ready, start), _since(now, start) if removed else None, book.price,
                amounts.get("cpu", 0), amounts.get("memory", 0), gpu_milli(amounts), to_microseconds(book.busy),
                book.pods,
            )
        )  # fmt: skip

    def event(self, now: float, kind: str, subject: str, node: str, detail: str) -> None:
        if self._with_events:
            self.events.append((_since(now, self._start), kind, subject, node, detail))

    def close(self) -> None:
        """Write the rows of pods, jobs and nodes that exist at the end."""
        assert self._kubelet is not None
        for life in self._kubelet.lives.values():
            if life.ended is None:
                life.outcome = "pending" if life.bound is None else "running"
                self._write_pod(life)
        self.jobs.close()
        for book in self._books.values():
            self._close(book, self._now, removed=False)


def _name(pod: api.Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _since(time: float | None, start: float) -> float | None:
    return None if time is None else to_microseconds(time - start)


def _is_ready(node: api.Node) -> bool:
    return all(each.type != "Ready" or each.status == "True" for each in node.status.conditions)


def _amounts(node: api.Node) -> dict[str, int]:
    return {
        name: milli_value(amount) if name == "cpu" else value(amount)
        for name, amount in node.status.allocatable.items()
    }
