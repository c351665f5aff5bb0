"""The scheduling cycle of pod groups: takes all members from the queue, decides, and binds or requeues them.

Upstream: pkg/scheduler/schedule_one_podgroup.go (scheduleOnePodGroup, submitPodGroupAlgorithmResult)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from stowplan.config.feature_gates import (
    BUSY_RETRIES,
    EAGER_EVICTION,
    INCOMPLETE_GANGS,
    OWN_MEMBERS,
    SHARED_VOLUMES,
    STALE_ANTI_AFFINITY,
    UNRESERVED_ROOM,
    WAITING_NOMINATIONS,
    group_difference,
)
from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.group_conditions import GroupConditions
from stowplan.engine.preemption import GROUP_NODE, PlannedEviction, Preemptions
from stowplan.engine.requeue import AttemptFailure, FailureHandler
from stowplan.engine.scheduling_cycle import SchedulingCycles
from stowplan.engine.state import EngineState
from stowplan.framework import POD_GROUP_CYCLE, Code, Pod, PodGroupInfo, QueuedPodInfo, Status
from stowplan.queue import GANG_PLUGIN, GroupKey, PodGroupQueue, group_key
from stowplan.runtime import Decision, Profile
from stowplan.runtime.groups import GroupCycle, GroupDecision, MemberOutcome
from stowplan.runtime.groups.group_status import GroupStatus, failure, mixed_schedulers
from stowplan.runtime.groups.members import MemberResult

INCOMPLETE = "pod group is incomplete"
"""The reason for members that waited at Permit for a member that failed, or whose PodGroup was deleted."""

_WAITING = Status(Code.Wait)

FailedMember = tuple[QueuedPodInfo, MemberOutcome]


class GroupSchedulingCycles(SchedulingCycles):
    """Runs pod group cycles for members of groups, and ordinary cycles for other pods."""

    def __init__(
        self,
        state: EngineState,
        bindings: BindingCycles,
        failures: FailureHandler,
        preemptions: Preemptions,
        queue: PodGroupQueue,
    ) -> None:
        super().__init__(state, bindings, failures, preemptions)
        self._queue = queue
        self._conditions = GroupConditions(state)
        self._victims: dict[GroupKey, set[str]] = {}
        """The uids of the victims of each group that has preempted and is not scheduled yet."""
        self._submitting = False
        """Whether members of a group are being bound, of which some are not assumed yet."""
        bindings.gangs = self
        queue.retries_groups = self._as_upstream(BUSY_RETRIES)

    def _as_upstream(self, difference: str) -> bool:
        """Whether that behaviour of kube-scheduler is reproduced."""
        return self._state.cluster.release.has(group_difference(difference))

    def _schedule(self, queued: QueuedPodInfo) -> None:
        key = group_key(queued.pod)
        if key is None:
            self._schedule_pod(queued)
        else:
            self._schedule_group(key, queued)

    def _schedule_group(self, key: GroupKey, first: QueuedPodInfo) -> None:
        state = self._state
        state.cycle += 1
        self.last = first
        taken = self._queue.take_members(first)
        profile = state.profiles[taken[0].pod.template.spec.scheduler_name]
        mixed = mixed_schedulers(queued.pod for queued in taken)
        if mixed is not None:
            self._reject_mixed_names(taken, mixed)
            return
        members = []
        for queued in taken:
            if queued.pod.terminating or queued.pod.uid in state.cluster.assumed:
                self._skip(queued)
            else:
                members.append(queued)
        if members:
            group = PodGroupInfo(*key, state.cluster.pod_groups.rules(*key), [queued.pod for queued in members])
            self._try_members(profile, group, members)

    def _try_members(self, profile: Profile, group: PodGroupInfo, members: Sequence[QueuedPodInfo]) -> None:
        state = self._state
        state.observer.group_attempt_started(group, members)
        state.deciding = True
        cycle = GroupCycle(
            profile,
            group,
            spares_members=not self._as_upstream(OWN_MEMBERS),
            stale_affinity=self._as_upstream(STALE_ANTI_AFFINITY),
            stale_volumes=self._as_upstream(SHARED_VOLUMES),
            in_parallel=True,
            clock=state.clock,
        )
        if profile.extenders and any(map(profile.calls_extenders, group.members)):
            self.suspended = self.has_trial = True
            state.tasks.start(_with_extenders(cycle), partial(self._resume_group, profile, group, members))
            return
        decision: GroupDecision | Exception
        try:
            decision = cycle.decide()
        except Exception as bug:
            decision = bug
        self._apply_group(profile, group, members, decision)

    def _resume_group(
        self,
        profile: Profile,
        group: PodGroupInfo,
        members: Sequence[QueuedPodInfo],
        decision: GroupDecision | Exception,
    ) -> None:
        """The last extender has answered; all other input was held back meanwhile."""
        self.suspended = self.has_trial = False
        self._apply_group(profile, group, members, decision)

    def _apply_group(
        self,
        profile: Profile,
        group: PodGroupInfo,
        members: Sequence[QueuedPodInfo],
        decision: GroupDecision | Exception,
    ) -> None:
        """Binds or requeues the members; an internal error fails this attempt only."""
        state = self._state
        if isinstance(decision, Exception):
            status = failure(f"internal error: {type(decision).__name__}: {decision}")
            self._observe(profile, members, {}, status)
            state.deciding = False
            self._requeue([(queued, _unsubmitted(queued, status)) for queued in members])
            state.observer.group_attempt_ended(group, "error", profile.name)
        else:
            results = {result.pod.uid: result for result in decision.trial.results}
            state.observer.group_decided(decision)
            self._observe(profile, members, results, decision.trial.status)
            state.deciding = False
            self._submit(decision, members, results)
            state.observer.group_attempt_ended(group, decision.result, profile.name)
        if state.deferred:
            state.run_deferred()

    def _observe(
        self,
        profile: Profile,
        members: Sequence[QueuedPodInfo],
        results: dict[str, MemberResult],
        status: GroupStatus,
    ) -> None:
        for queued in members:
            result = results.get(queued.pod.uid)
            decision = Decision.broken(profile, queued.pod, status.message) if result is None else result.decision
            self._state.observer.decided(queued, decision)

    # Outcomes
    def _submit(
        self, decision: GroupDecision, members: Sequence[QueuedPodInfo], results: dict[str, MemberResult]
    ) -> None:
        """Binds the members that found a node, if the group is scheduled, and requeues the others."""
        key = decision.group[:2]
        failed: list[FailedMember] = []
        binding: list[QueuedPodInfo] = []
        for queued, outcome in zip(members, decision.outcomes, strict=True):
            if outcome.status is None:
                binding.append(queued)
            else:
                failed.append((queued, self._with_nomination(decision, outcome)))
        if decision.result == "waiting_on_preemption" or (
            decision.result == "unschedulable" and self._as_upstream(EAGER_EVICTION)
        ):
            self._preempt(decision)
        self._requeue(failed, self._further_rejectors(decision))
        if binding:
            decisions = [results[queued.pod.uid].decision for queued in binding]
            if not self._bind_together(key, binding, decisions):
                self._submitting = True
                for queued, decided in zip(binding, decisions, strict=True):
                    self._bind(queued, decided)
                self._submitting = False
            self.settle_gang(key)
            self._victims.pop(key, None)
            # The members that are left over are a group of their own, which may preempt.
            self._queue.activate([queued.pod for queued, _ in failed])
        self._conditions.write(key, decision.condition)

    def _further_rejectors(self, decision: GroupDecision) -> frozenset[str]:
        """The plugins whose events can help the group, besides those that rejected members in the first placement.

        kube-scheduler has none for a group without a placement, or short of members that are gated, and retries the
        group every ten seconds."""
        search, rules = decision.search, decision.group.rules
        rejectors = frozenset[str]() if search is None else search.rejectors
        if decision.result != "unschedulable" or rejectors or any(each.rejectors for each in decision.outcomes):
            return rejectors
        if search is not None and search.error is not None:
            return frozenset((search.error.plugin,))
        members = self._state.cluster.pod_groups.get(*decision.group[:2])
        if rules is None or rules.min_count is None or members is None or not self._enforces(decision.group.members[0]):
            return rejectors
        is_short = members.scheduled_count + len(decision.group.members) < rules.min_count
        return frozenset((GANG_PLUGIN,)) if is_short else rejectors

    def _bind_together(self, key: GroupKey, binding: Sequence[QueuedPodInfo], decisions: Sequence[Decision]) -> bool:
        """Binds a gang whose members wait at Permit for each other alone, and for which only the default binder runs:
        all members are assumed, then all pass. False, without effect, for other gangs."""
        state, bindings = self._state, self._bindings
        cluster, observer = state.cluster, state.observer
        group, rules = cluster.pod_groups.get(*key), cluster.pod_groups.rules(*key)
        if self._as_upstream(WAITING_NOMINATIONS):
            return False
        if group is None or rules is None or group.scheduled_count + len(binding) < (rules.min_count or 0):
            return False
        templates = {queued.pod.template: decision.profile for queued, decision in zip(binding, decisions, strict=True)}
        if not all(profile.binding_points(template).only_gang for template, profile in templates.items()):
            return False
        if any(queued.pod.uid in cluster.pods for queued in binding):
            return False
        waits = max((rules.min_count or 0) - group.scheduled_count - 1, 0)
        attempts = [bindings.assume_member(*each) for each in zip(binding, decisions, strict=True)]
        for number, attempt in enumerate(attempts):
            attempt.state.delete(POD_GROUP_CYCLE)
            observer.point_ran(attempt.queued, "Permit", _WAITING if number < waits else None, 0.0)
            if number < waits:
                observer.permit_wait_ended(attempt.queued, None, 0.0)
            bindings.bind_straight(attempt)
        return True

    def _bind(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """Assume, Reserve and Permit, then the binding cycle. The member that completes the gang allows the waiting
        members."""
        groups, pod = self._state.cluster.pod_groups, queued.pod
        decision.state.delete(POD_GROUP_CYCLE)
        groups.assume(pod)
        self._bindings.begin(queued, decision)
        if pod.uid not in self._state.cluster.assumed:
            groups.forget(pod)

    def _requeue(self, failed: Sequence[FailedMember], rejectors: frozenset[str] = frozenset()) -> None:
        """Requeues members as a unit: events that could help any member that plugins rejected, in any placement, wake
        all of them. Of equal members, events wake the first. `rejectors` are those of all placements."""
        union = rejectors.union(*(outcome.rejectors for _, outcome in failed))
        all_placed = not any(outcome.rejectors for _, outcome in failed)  # In the first placement.
        self._queue.share_backoff([queued for queued, _ in failed])
        leading: set[object] = set()
        for queued, outcome in failed:
            assert outcome.status is not None
            own = outcome.rejectors | rejectors if outcome.rejectors or all_placed else frozenset[str]()
            kind = (queued.pod.template, own)
            queued.follows_group = bool(union) and (not own or kind in leading)
            leading.add(kind)
            status = Status(outcome.status.code, outcome.status.message)
            self._failures.handle(
                queued, AttemptFailure(status, status.message, own or union, nominate=outcome.nominated)
            )

    def _reject_mixed_names(self, taken: Sequence[QueuedPodInfo], status: GroupStatus) -> None:
        for queued in taken:
            profile = self._state.profiles[queued.pod.template.spec.scheduler_name]
            self._observe(profile, [queued], {}, status)
        self._requeue([(queued, _unsubmitted(queued, status)) for queued in taken])

    # Preemption
    def _with_nomination(self, decision: GroupDecision, outcome: MemberOutcome) -> MemberOutcome:
        """Members keep the nodes that are being made free for them until all victims of their group are gone."""
        if self._as_upstream(UNRESERVED_ROOM):
            return outcome
        node_name = decision.nominations.get(outcome.pod.uid)
        if node_name is not None:
            return outcome._replace(nominated=node_name)
        if outcome.nominated == "" and self._waits_for_victims(decision.group[:2]):
            return outcome._replace(nominated=None)
        return outcome

    def _waits_for_victims(self, key: GroupKey) -> bool:
        victims = self._victims.get(key)
        if victims is None:
            return False
        victims.intersection_update(self._state.cluster.pods)
        if not victims:
            del self._victims[key]
        return bool(victims)

    def _preempt(self, decision: GroupDecision) -> None:
        """Evicts the victims of the group, or of its members. A group that does not fit although they preempt does not
        get here, unless EAGER_EVICTION is on: nothing is evicted for it."""
        rules, members = decision.group.rules, decision.group.members
        uid = "" if rules is None else rules.uid
        evictions = [PlannedEviction(victim, members[0], GROUP_NODE, uid) for victim in decision.victims]
        for result in decision.trial.results:
            preemption = result.decision.preemption
            if result.requires_preemption and preemption is not None:
                evictions += [PlannedEviction(each, result.pod, preemption.node_name) for each in preemption.victims]
        if not evictions:
            return
        self._victims[decision.group[:2]] = {each.victim.uid for each in evictions}
        self._preemptions.start_for_group(members, evictions)

    # Binding
    def member_changed(self, pod: Pod) -> None:
        key = group_key(pod)
        if key is not None and not self._submitting:
            self.settle_gang(key)

    def check_member(self, pod: Pod) -> Status | None:
        """Members may have failed, or the PodGroup may have changed, while Permit plugins ran."""
        key = group_key(pod)
        if key is None or not self._enforces(pod) or self._is_complete(key) or self._as_upstream(INCOMPLETE_GANGS):
            return None
        return Status(Code.Unschedulable, INCOMPLETE, plugin=GANG_PLUGIN)

    def settle_gang(self, key: GroupKey) -> None:
        """Decides about the members that wait at Permit for their gang: if enough of them have a node they are bound,
        else they give their room back at once."""
        state = self._state
        group = state.cluster.pod_groups.get(*key)
        if group is None:
            self._victims.pop(key, None)
        complete = self._is_complete(key)
        for uid in () if group is None else tuple(group.assumed):
            waiting = state.waiting_pods.get(uid)
            if waiting is None or GANG_PLUGIN not in waiting.pending_plugins:
                continue
            if complete:
                waiting.allow(GANG_PLUGIN)
            elif not self._as_upstream(INCOMPLETE_GANGS):
                waiting.reject(GANG_PLUGIN, INCOMPLETE)

    def _is_complete(self, key: GroupKey) -> bool:
        groups = self._state.cluster.pod_groups
        group, rules = groups.get(*key), groups.rules(*key)
        return group is not None and rules is not None and group.scheduled_count >= (rules.min_count or 0)

    def _enforces(self, pod: Pod) -> bool:
        """Whether the pod's profile has the plugin GangScheduling."""
        points = self._state.profiles[pod.template.spec.scheduler_name].binding_points(pod.template)
        return any(plugin.name == GANG_PLUGIN for plugin in points.permit)


async def _with_extenders(cycle: GroupCycle) -> GroupDecision | Exception:
    try:
        return await cycle.decide_with_extenders()
    except Exception as bug:
        return bug


def _unsubmitted(queued: QueuedPodInfo, status: GroupStatus) -> MemberOutcome:
    return MemberOutcome(queued.pod, "", status, "", frozenset())
