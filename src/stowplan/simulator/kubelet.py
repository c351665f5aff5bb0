"""The kubelets of the simulated nodes: pods start, run for their duration, and end.

A pod's work is counted in seconds on a node. It is registered by the scenario for an object before its pods exist
(`Work`), or taken from annotations (ours, KWOK's); a pod without any runs until it is deleted. Finished pods are
removed after `ttl`, so memory follows the pods that exist.

Upstream: pkg/kubelet, sigs.k8s.io/kwok (stage pod-complete)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.config.duration import Duration
from stowplan.framework import Status
from stowplan.simulator.api_server import ApiServer, StepOrder, controller_of
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.pod_status import with_condition

WORKLOAD = "simulation.stowplan/workload"
"""Annotation with the name of the pod's workload in the scenario."""
TENANT = "simulation.stowplan/tenant"
"""Annotation with the pod's tenant."""
DURATION = "simulation.stowplan/duration"
"""Annotation with the pod's work, such as 90s."""
KWOK_DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"
KWOK_JITTER = "pod-complete.stage.kwok.x-k8s.io/jitter-delay"
"""KWOK's annotations: the pod ends after `delay`, or at random between the two if the jitter delay is larger."""

SUCCEEDED, FAILED, DELETED, PREEMPTED, EVICTED, LOST = "succeeded", "failed", "deleted", "preempted", "evicted", "lost"
_DISRUPTION = "DisruptionTarget"
_PREEMPTION = "PreemptionByScheduler"


class Restart(NamedTuple):
    """What remains of a pod's work after an interruption."""

    checkpoint: float = 0.0
    """Seconds between checkpoints; 0 starts over, and infinitely small intervals are `resume`."""
    resume: bool = False

    def kept(self, done: float) -> float:
        """The part of the work that does not have to be repeated."""
        if self.resume:
            return done
        return done - done % self.checkpoint if self.checkpoint else 0.0


class Work(NamedTuple):
    """The work of one pod."""

    seconds: float | None
    """None: until the pod is deleted."""
    startup: float = 0.0
    """Seconds from binding to running."""
    restart: Restart = Restart()
    fails_after: float | None = None
    """Seconds of work after which the pod fails, if it does."""
    deadline: float | None = None
    """activeDeadlineSeconds: the pod fails if it runs for longer."""
    resubmit: bool = False
    """Whether an interrupted pod without a controller is created again."""
    done: float = 0.0
    """Work that earlier pods have done."""
    first: str = ""
    """Name of the first of several pods without a controller that were created for this work."""


class PodLife:
    """One pod from its creation to its end; times are seconds since the epoch, None for what has not happened."""

    __slots__ = (
        "attempts", "bound", "cause", "created", "ended", "first_attempt", "job", "lost", "node", "outcome", "pod",
        "reason", "running", "running_since", "tenant", "work", "workload",
    )  # fmt: skip

    def __init__(self, pod: api.Pod, created: float, work: Work) -> None:
        self.pod = pod
        self.created = created
        self.work = work
        self.first_attempt: float | None = None
        self.bound: float | None = None
        self.running: float | None = None
        self.running_since: float | None = None
        """When the current run began; None while the pod or its node is down."""
        self.ended: float | None = None
        self.node = ""
        self.outcome = ""
        self.cause = ""
        """What interrupted the pod: a drain, a failure and so on."""
        self.attempts = 0
        self.lost = 0.0
        """Seconds of work that were thrown away."""
        self.reason: Status | None = None
        """The status of the last failed attempt."""
        annotations = pod.metadata.annotations
        self.workload = annotations.get(WORKLOAD, "")
        self.tenant = annotations.get(TENANT, "")
        self.job = _job_of(pod, work)
        """The Job that owns the pod, or the pod itself; pods that are created again have the name of the first."""


def _job_of(pod: api.Pod, work: Work) -> str:
    owner = controller_of(pod)
    name = pod.metadata.name
    if owner is not None and owner.kind == "Job":
        name = owner.name
    elif work.first:
        name = work.first
    return f"{pod.metadata.namespace}/{name}"


class LifeObserver:
    """Called at each step of a pod's life, and when nodes change."""

    def begin(self, kubelet: Kubelet) -> None: ...

    def pod_created(self, life: PodLife) -> None: ...

    def pod_bound(self, life: PodLife) -> None: ...

    def pod_running(self, life: PodLife) -> None: ...

    def pod_ended(self, life: PodLife) -> None: ...

    def pod_refused(self, name: str, message: str) -> None: ...

    def job_ended(self, name: str, outcome: str) -> None: ...

    def node_event(self, kind: str, node: str, detail: str) -> None: ...

    def node_changed(self, old: api.Node | None, new: api.Node | None) -> None: ...


class Kubelet:
    """Runs the pods of all nodes."""

    def __init__(
        self,
        api_server: ApiServer,
        observer: LifeObserver,
        *,
        jitter: Callable[[str], float] = lambda name: 0.0,
        ttl: float = 0.0,
    ) -> None:
        """`jitter` returns a number in [0, 1) for a pod's name, for KWOK's jitter delay."""
        self.api_server = api_server
        self.lives: dict[str, PodLife] = {}
        """Pods that exist, by uid."""
        self.running = 0
        """Pods that are bound and not ended."""
        self.on_end: Callable[[PodLife], None] = lambda life: None
        """Called after a pod has ended, for controllers of the scenario."""
        self.on_running: Callable[[PodLife], None] = lambda life: None
        """Called when a pod runs."""
        self._observer = observer
        self._jitter = jitter
        self._ttl = ttl
        self._registered: dict[str, list[Work]] = {}
        self._down: set[str] = set()
        """Nodes that failed."""
        observer.begin(self)
        for pod in api_server.all(api.Pod):
            self._pod_changed(None, pod)
        api_server.listen(api.Pod, self._pod_changed)
        api_server.listen(api.Node, observer.node_changed)

    def refused(self, pod: api.Pod, message: str) -> None:
        """A pod without a controller was not created, so its work is dropped."""
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self.forget(f"Pod/{name}")
        self._observer.pod_refused(name, message)

    def register(self, owner: str, works: list[Work]) -> None:
        """Set the work of the next pods of an owner: `Job/namespace/name`, or `Pod/namespace/name`."""
        self._registered.setdefault(owner, []).extend(works)

    def forget(self, owner: str) -> None:
        """Drop the work that an owner's pods have not taken."""
        self._registered.pop(owner, None)

    def life_of(self, pod: api.Pod) -> PodLife | None:
        return self.lives.get(pod.metadata.uid)

    def evict(self, pod: api.Pod, cause: str) -> None:
        """Delete a pod, and note why."""
        life = self.life_of(pod)
        if life is not None:
            life.cause = cause
        self.api_server.delete(pod)

    def node_down(self, name: str) -> None:
        """The node failed: its pods make no progress and new ones do not start."""
        self._down.add(name)
        for pod in self.api_server.pods_on(name):
            life = self.life_of(pod)
            if life is not None and life.running_since is not None:
                self._interrupt(life)

    def node_up(self, name: str) -> None:
        """The node is back: its pods start again."""
        self._down.discard(name)
        for pod in self.api_server.pods_on(name):
            life = self.life_of(pod)
            if life is not None and life.running_since is None:
                self._start(life)

    def is_down(self, name: str) -> bool:
        return name in self._down

    def _pod_changed(self, old: api.Pod | None, new: api.Pod | None) -> None:
        if new is None:
            if old is not None and (life := self.lives.pop(old.metadata.uid, None)) is not None:
                life.pod = old
                self._gone(life)
            return
        life = self.lives.get(new.metadata.uid)
        if life is None:
            life = self.lives[new.metadata.uid] = PodLife(new, self.api_server.clock(), self._work_of(new))
            self._observer.pod_created(life)
        if new.spec.node_name and not life.node:
            life.pod = new
            life.node = new.spec.node_name
            life.bound = self.api_server.clock()
            self.running += 1
            self._observer.pod_bound(life)
            self._start(life)

    def _work_of(self, pod: api.Pod) -> Work:
        owner = controller_of(pod)
        kind, name = ("Pod", pod.metadata.name) if owner is None else (owner.kind, owner.name)
        key = f"{kind}/{pod.metadata.namespace}/{name}"
        works = self._registered.get(key)
        if works:
            work = works.pop(0)
            if not works:
                del self._registered[key]
            return work if work.seconds is not None else work._replace(seconds=annotated_seconds(pod, self._jitter))
        return Work(annotated_seconds(pod, self._jitter))

    def _start(self, life: PodLife) -> None:
        if life.node in self._down:
            return
        if life.work.startup > 0:
            self.api_server.put_status(_not_ready(life.pod, self.api_server.now()))
            self._at(life.work.startup, partial(self._ready, life, life.pod.metadata.uid))
        else:
            self._run(life)

    def _ready(self, life: PodLife, uid: str) -> None:
        if life.ended is None and life.running_since is None and life.node not in self._down:
            pod = self.api_server.get(api.Pod, life.pod.metadata.name, life.pod.metadata.namespace)
            if pod is not None:
                self.api_server.put(_ready(pod, self.api_server.now()))
            self._run(life)

    def _run(self, life: PodLife) -> None:
        now = self.api_server.clock()
        life.running_since = now
        if life.running is None:
            life.running = now
            self._observer.pod_running(life)
        self.on_running(life)
        work = life.work
        deadline = work.deadline
        if work.fails_after is not None and (work.seconds is None or work.fails_after < work.seconds):
            self._at(max(0.0, work.fails_after - work.done), partial(self._finish, life, now, FAILED))
        elif work.seconds is not None:
            self._at(max(0.0, work.seconds - work.done), partial(self._finish, life, now, SUCCEEDED))
        if deadline is not None and (work.seconds is None or work.seconds - work.done > deadline):
            self._at(deadline, partial(self._finish, life, now, FAILED))

    def _at(self, delay: float, step: Callable[[], None]) -> None:
        self.api_server.at(to_microseconds(self.api_server.clock() + delay), step, StepOrder.COMPLETION)

    def _interrupt(self, life: PodLife) -> None:
        """The pod's run ends before its work does."""
        if life.running_since is None:
            return
        done = life.work.done + self.api_server.clock() - life.running_since
        life.running_since = None
        kept = life.work.restart.kept(done)
        life.lost += 0.0 if life.work.seconds is None else done - kept
        life.work = life.work._replace(done=kept, fails_after=None)

    def _finish(self, life: PodLife, since: float, outcome: str) -> None:
        """The pod ends by itself, unless its run that began at `since` was interrupted."""
        if life.ended is not None or life.running_since != since:
            return
        life.outcome = outcome
        if self._ttl:
            pod = self.api_server.get(api.Pod, life.pod.metadata.name, life.pod.metadata.namespace)
            assert pod is not None, "a pod that runs exists"
            self._end(life)
            phase = "Succeeded" if outcome == SUCCEEDED else "Failed"
            stored = self.api_server.put(replace(pod, status=replace(pod.status, phase=phase)))
            self.api_server.at(
                to_microseconds(self.api_server.clock() + self._ttl), partial(self.api_server.finish, stored)
            )
        else:
            self.api_server.finish(life.pod)

    def _gone(self, life: PodLife) -> None:
        """The pod was removed from the API server."""
        if life.ended is not None:
            return
        if not life.outcome:
            life.outcome = self._outcome(life)
            self._interrupt(life)
        self._end(life)
        work = life.work
        if life.outcome in (PREEMPTED, EVICTED, LOST) and (work.resubmit or controller_of(life.pod) is not None):
            self._hand_over(life)

    def _outcome(self, life: PodLife) -> str:
        if life.cause:
            return EVICTED
        for condition in life.pod.status.conditions:
            if condition.type == _DISRUPTION and condition.reason == _PREEMPTION:
                return PREEMPTED
        if life.node and self.api_server.get(api.Node, life.node) is None:
            return LOST
        return DELETED

    def _end(self, life: PodLife) -> None:
        life.ended = self.api_server.clock()
        if life.bound is not None:
            self.running -= 1
        self._observer.pod_ended(life)
        self.on_end(life)

    def _hand_over(self, life: PodLife) -> None:
        """The work goes to the next pod of the owner, or to a new pod without an owner."""
        metadata, owner = life.pod.metadata, controller_of(life.pod)
        if owner is not None:
            if owner.kind == "Job":
                self._registered.setdefault(f"Job/{metadata.namespace}/{owner.name}", []).insert(0, life.work)
            return
        first = life.work.first or metadata.name
        fresh = replace(metadata, uid="", resource_version="", creation_timestamp="")
        pod = api.Pod(metadata=fresh, spec=replace(life.pod.spec, node_name=""), status=api.PodStatus(phase="Pending"))
        again = partial(self._create_again, pod, life.work._replace(first=first))
        self.api_server.at(self.api_server.clock(), again, StepOrder.ARRIVAL)

    def _create_again(self, pod: api.Pod, work: Work) -> None:
        """Create a pod for the work of an interrupted one, with a number after the name of the first pod."""
        metadata = pod.metadata
        head, _, earlier = metadata.name.rpartition("-r")
        names = (f"{work.first}-r{number}" for number in count(int(earlier) + 1 if head == work.first else 1))
        name = next(name for name in names if self.api_server.get(api.Pod, name, metadata.namespace) is None)
        self.register(f"Pod/{metadata.namespace}/{name}", [work])
        self.api_server.put(replace(pod, metadata=replace(metadata, name=name)))


def annotated_seconds(pod: api.Pod, jitter: Callable[[str], float]) -> float | None:
    """The work that annotations give: ours, then KWOK's; None without one that is valid."""
    annotations = pod.metadata.annotations
    own = _seconds(annotations.get(DURATION, ""))
    if own is not None:
        return own
    delay = _seconds(annotations.get(KWOK_DELAY, ""))
    until = _seconds(annotations.get(KWOK_JITTER, ""))
    if delay is None or until is None or until <= delay:
        return delay
    return delay + (until - delay) * jitter(f"{pod.metadata.namespace}/{pod.metadata.name}")


def _seconds(text: str) -> float | None:
    try:
        return Duration.parse(text).seconds if text else None
    except ValueError:
        return None


def _not_ready(pod: api.Pod, now: str) -> api.Pod:
    return replace(pod, status=with_condition(pod.status, api.Condition(type="Ready", status="False"), now))


def _ready(pod: api.Pod, now: str) -> api.Pod:
    return replace(pod, status=with_condition(pod.status, api.Condition(type="Ready", status="True"), now))
