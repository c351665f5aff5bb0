"""The entry point of the room: answers about the pods of one scheduler.

`Insight` takes a view of a scheduler's state, which the engine satisfies, and answers in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from time import thread_time
from typing import Any, Protocol

from msgspec.structs import replace

from stowplan import api
from stowplan.cache import Cluster
from stowplan.errors import StowplanError
from stowplan.framework import DecisionRecord, Explanation, NodeInfo, Pod
from stowplan.framework.explanation import (
    EXPLANATION_VERSION,
    Because,
    NotCreatedPods,
    PendingGroup,
    PendingPods,
    PlacedExplanation,
    WhyNot,
)
from stowplan.insight.explain import explain
from stowplan.insight.finding import FoundPod, PodFinder, PodNotFoundError, find_node, no_pods_of
from stowplan.insight.groups import counted_in_pods, grouped
from stowplan.insight.last_attempt import with_last_attempt
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.not_created import concerns, failed_replica_sets
from stowplan.insight.placed import explain_placed, not_compared
from stowplan.insight.pod_group import MAX_MEMBERS_WHILE_RUNNING, explain_member, gang_gate_sentence, group_of_member
from stowplan.insight.queue_words import Clocks, QueueView, history_of, permit_sentence, queue_state
from stowplan.insight.sentences.pod_affinity import pending_matches
from stowplan.insight.slices import Slices, timed
from stowplan.insight.waiting import (
    explain_briefly,
    explain_gated,
    explain_permit,
    explain_preemptor,
    victims_under_way,
)
from stowplan.insight.why_not import why_not
from stowplan.insight.workloads import WorkloadReference, belongs_to
from stowplan.runtime.profile.profile import Profile

_PODS_PER_SLICE = 2000
_PENDING_PODS_PER_SLICE = 300
NOT_LISTED = "Too many different pods are pending to explain them all in one list; explain this pod by its name."
TOO_LARGE = "The spec is too large to be explained by a running scheduler; explain it from a snapshot."
OTHER_SCHEDULER = "other-scheduler"
"""The id of the reason of pods whose schedulerName no profile has."""
MAX_FILTER_SECONDS = 0.003
"""CPU time of all filters on all nodes, in a running scheduler. Ordinary pods take 1 ms on 5,000 nodes; pods with a
hundred constraints or terms are not explained, since each of about 100 checks takes as long."""


def other_scheduler_sentence(name: str) -> str:
    return f"Waits for scheduler {name} (spec.schedulerName), which is not among this configuration's profiles."


class TooLargeError(StowplanError):
    """The spec of a pod is too large for an answer of a running scheduler."""


class SchedulerView(QueueView, Protocol):
    """The state of a scheduler that answers read; the engine has it."""

    @property
    def profiles(self) -> Mapping[str, Profile]: ...

    @property
    def cluster(self) -> Cluster: ...

    @property
    def pending(self) -> Mapping[str, Any]:
        """By uid; the values have `pod`."""
        ...

    @property
    def preemptors(self) -> Collection[str]: ...


class Insight:
    """Answers about pods: why they are pending, why they are on their node."""

    def __init__(
        self,
        view: SchedulerView,
        clock: Callable[[], float],
        wall_clock: Callable[[], float] | None = None,
        other_pods: Callable[[], Iterable[api.Pod]] = tuple,
        last_message: Callable[[Pod], str | None] = lambda pod: None,
        *,
        not_created: Callable[[], Iterable[NotCreatedPods | None]] | None = None,
        running: bool = False,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        """`clock` is that of the scheduler; `wall_clock`, by default the same, gives the time of day. `other_pods` are
        pods that the scheduler does not keep: finished ones, and pending ones of other schedulers. `last_message` is
        kube-scheduler's message of a pod's last attempt; without one the attempt is made again. `not_created` are pods
        that controllers could not create, by default those of ReplicaSets whose status reports it. `running` if answers
        hold up a scheduler: large specs are not explained, since a tenant decides how large they are, and each check of
        a change copies the spec."""
        self.view = view
        self.clock = clock
        self.clocks = Clocks(clock, wall_clock or clock)
        self.other_pods = other_pods
        self.last_message = last_message
        self._not_created = not_created or (lambda: failed_replica_sets(view.cluster))
        self._running = running
        self._cpu_clock = cpu_clock

    def find(self, reference: str, namespace: str = "default") -> FoundPod:
        """The pod named `namespace/name`, `name` in the namespace, or by its uid."""
        finder = PodFinder(self.view.cluster, self.view.pending, self.other_pods())
        found = finder.find(reference, namespace)
        return found._replace(placed=found.placed and self.view.waiting_pods.get(found.pod.uid) is None)

    def node(self, name: str) -> NodeInfo:
        """The node; raises an error with near names."""
        return find_node(self.view.cluster, name)

    def check_profile(self, name: str) -> None:
        """Raises an error for a name that no profile has."""
        if name and name not in self.view.profiles:
            known = ", ".join(sorted(self.view.profiles))
            raise PodNotFoundError(f"no profile has the schedulerName {name}; the configuration has {known}")

    def profile_of(self, pod: Pod, name: str = "") -> Profile:
        """The profile of the pod's schedulerName, or the named one; the first profile for a pod of another
        scheduler."""
        profiles = self.view.profiles
        return profiles.get(name or pod.template.spec.scheduler_name) or next(iter(profiles.values()))

    def explain(self, pod: Pod, *, top: int = 5, profile: str = "", details: bool = False) -> Slices[Explanation]:
        """Why a pending pod has no node. `profile` names the profile for a pod of another scheduler."""
        chosen = self.profile_of(pod, profile)
        found = yield from self._explain_pending(chosen, pod, top, details)
        queue = queue_state(self.view, self.clocks, pod)
        place = self.view.queue_place(pod.uid)
        first = None if place is None else place[1].initial_attempt_timestamp
        since = "" if first is None else self.clocks.timestamp(first)
        history = history_of(self.view, self.clocks, pod)
        found = replace(found, queue=queue, history=history, pod=replace(found.pod, since=since))
        found = with_last_attempt(found, chosen, pod)
        name = pod.template.spec.scheduler_name
        if name in self.view.profiles:
            return found
        return replace(
            found,
            verdict="waiting",
            sentence=other_scheduler_sentence(name),
            because=Because(id=OTHER_SCHEDULER, plugin="", facts={"schedulerName": name}),
            more=(f"As a pod of {chosen.name}: {found.sentence}", *found.more),
        )

    def explain_placed(
        self,
        pod: Pod,
        *,
        top: int = 5,
        profile: str = "",
        decision: DecisionRecord | PlacedExplanation | None = None,
    ) -> Slices[PlacedExplanation]:
        """Why a pod is on its node: by the recorded decision, or as if it were placed again now."""
        chosen = self.profile_of(pod, profile)
        if self._too_large(pod) or (yield from self._too_expensive(chosen, pod)):
            return not_compared(chosen, pod, TOO_LARGE)
        found = yield from explain_placed(chosen, pod, top=top, decision=decision)
        history = history_of(self.view, self.clocks, pod)
        return replace(found, more=(*found.more, *self._other_scheduler(pod, chosen)), history=history)

    def why_not(self, pod: Pod, node: NodeInfo, *, profile: str = "") -> Slices[WhyNot]:
        """The rules of all plugins about one node. Raises TooLargeError."""
        chosen = self.profile_of(pod, profile)
        if self._too_large(pod) or (yield from self._too_expensive(chosen, pod)):
            raise TooLargeError(TOO_LARGE)
        found = yield from why_not(chosen, pod, node)
        return replace(found, more=(*found.more, *self._other_scheduler(pod, chosen)))

    def pending(
        self, namespace: str = "", *, members: dict[str, list[Pod]] | None = None, max_explained: int = 0
    ) -> Slices[PendingPods]:
        """All pending pods, or those of a namespace, grouped by sentence; their pods are added to `members`. A running
        scheduler explains the most frequent templates; the others are grouped by kube-scheduler's message. Elsewhere
        `max_explained` limits the number of templates, if it is not 0."""
        keyed = yield from self._keyed(lambda pod: namespace in ("", pod.namespace))
        brief = self._briefly if self._running or max_explained else None
        limit = None if self._running else max_explained
        groups = yield from grouped(keyed, self.explain, brief, members=members, max_explained=limit)
        lacking = yield from self._lacking(namespace)
        return PendingPods(version=EXPLANATION_VERSION, pods=len(keyed), groups=groups, not_created=lacking)

    def _lacking(
        self, namespace: str, reference: WorkloadReference | None = None
    ) -> Slices[tuple[NotCreatedPods, ...]]:
        found = []
        for each in self._not_created():
            if each is None:
                yield
            elif concerns(each, namespace, reference):
                found.append(each)
        return tuple(found)

    def workload(self, reference: WorkloadReference, *, top: int = 5) -> Slices[PendingPods]:
        """The pods of a workload: those pending grouped by sentence, each group with an explanation whose proposals
        are counted in pods as well, except in a running scheduler: that takes seconds."""
        keyed = yield from self._keyed(lambda pod: belongs_to(pod, reference))
        placed = 0
        others = list(self.view.cluster.pods.values())
        for start in range(0, len(others), _PODS_PER_SLICE):
            placed += sum(belongs_to(pod, reference) for pod in others[start : start + _PODS_PER_SLICE])
            yield
        lacking = yield from self._lacking("", reference)
        if not keyed and not placed and not lacking:
            pods = [*(entry.pod for entry in self.view.pending.values()), *others]
            raise PodNotFoundError(no_pods_of(reference, pods))
        brief = self._briefly if self._running else None
        groups = yield from grouped(keyed, lambda pod: self.explain(pod, top=top), brief, keep_explanations=True)
        counted: list[PendingGroup] = []
        by_name = {pod.key: pod for _, pod in keyed}
        for group in groups:
            pod = by_name[group.sample[0]]
            profile = self.profile_of(pod)
            counted.append(group if self._running else (yield from counted_in_pods(profile, pod, group)))
        return PendingPods(
            version=EXPLANATION_VERSION,
            workload=f"{reference.namespace}/{reference.workload}",
            pods=len(keyed),
            placed=placed,
            groups=tuple(counted),
            not_created=lacking,
        )

    def _briefly(self, pod: Pod) -> Explanation:
        message = self.last_message(pod) or ""
        because = Because(id="not-explained", plugin="")
        untried = "Not tried yet, or not rejected by a filter." if self._running else NOT_LISTED
        return explain_briefly(pod, because, message or untried, message)

    def _too_large(self, pod: Pod) -> bool:
        return self._running and pod.template.large

    def _too_expensive(self, profile: Profile, pod: Pod) -> Slices[bool]:
        """Whether all filters take so long for the pod that checks of changes would delay the scheduler."""
        if not self._running:
            return False
        _, seconds = yield from timed(_filtered(profile, pod), self._cpu_clock)
        yield
        return seconds > MAX_FILTER_SECONDS

    def _explain_pending(self, profile: Profile, pod: Pod, top: int, details: bool) -> Slices[Explanation]:
        waiting = self.view.waiting_pods.get(pod.uid)
        if waiting is not None:
            sentence = permit_sentence(self.view, self.clocks, pod) or ""
            return explain_permit(pod, sentence, ", ".join(waiting.pending_plugins))
        victims = victims_under_way(profile.cluster, pod)
        if victims or pod.uid in self.view.preemptors:
            return explain_preemptor(pod, victims)
        if self._too_large(pod) or (yield from self._too_expensive(profile, pod)):
            because = Because(id="too-large", plugin="")
            return explain_briefly(pod, because, TOO_LARGE, self.last_message(pod) or "")
        status = profile.pre_enqueue(pod)
        if status is not None:
            words = gang_gate_sentence(profile, pod, status)
            message = self.last_message(pod)
            return (yield from explain_gated(profile, pod, status, top=top, message=message, sentence=words))
        group = group_of_member(profile, pod, (entry.pod for entry in self.view.pending.values()))
        if group is not None and not (self._running and len(group.members) > MAX_MEMBERS_WHILE_RUNNING):
            return (yield from explain_member(profile, pod, group, top=top))
        found = yield from explain(profile, pod, top=top, details=details, message=self.last_message(pod))
        if found.because is not None and found.because.id == "pod-affinity.unmet":
            pending = [entry.pod for entry in self.view.pending.values()]
            return replace(found, more=(*pending_matches(pod, pending), *found.more))
        return found

    def _keyed(self, wanted: Callable[[Pod], bool]) -> Slices[list[tuple[Hashable, Pod]]]:
        """Pods without a node, and pods that wait at Permit, with their keys; pods that are being bound have a node."""
        found: list[tuple[Hashable, Pod]] = []
        entries = list(self.view.pending.items())
        for start in range(0, len(entries), _PENDING_PODS_PER_SLICE):
            for uid, entry in entries[start : start + _PENDING_PODS_PER_SLICE]:
                assumed = self.view.cluster.pods.get(uid)
                if assumed is None or self.view.waiting_pods.get(uid) is not None:
                    pod: Pod = assumed or entry.pod
                    if wanted(pod):
                        found.append((self._key(pod), pod))
            yield
        return found

    def _key(self, pod: Pod) -> Hashable:
        """Pods with equal keys have equal explanations, but for their names."""
        place = self.view.queue_place(pod.uid)
        if pod.uid in self.view.preemptors or self.view.waiting_pods.get(pod.uid) is not None or place is None:
            return pod.uid
        info = place[1]
        plugins = frozenset(info.unschedulable_plugins | info.pending_plugins)
        return pod.template, pod.nominated_node_name, info.gating_plugin, plugins

    def _other_scheduler(self, pod: Pod, profile: Profile) -> tuple[str, ...]:
        name = pod.template.spec.scheduler_name
        if name in self.view.profiles:
            return ()
        return (
            f"It is a pod of scheduler {name}, which is not among this configuration's profiles; explained as a pod of "
            f"{profile.name}.",
        )


def _filtered(profile: Profile, pod: Pod) -> Slices[None]:
    """All filters on all nodes, as an explanation begins."""
    yield from FilterMatrix(profile, pod, filled=False).fill()
