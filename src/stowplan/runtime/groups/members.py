"""Trying the members of a group one after the other, each with those before it on their nodes.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupSchedulingDefaultAlgorithm, podGroupPodSchedulingAlgorithm)
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from stowplan import api
from stowplan.api import ObjectMeta
from stowplan.cache import Trial
from stowplan.framework import (
    POD_GROUP_CYCLE,
    Call,
    Code,
    CycleState,
    Failure,
    Placement,
    Plugin,
    Pod,
    PodGroupInfo,
    PodTemplate,
    StateNotFoundError,
    Status,
)
from stowplan.framework.safe_text import raised
from stowplan.plugins.gang_scheduling import GANG_WAIT, is_short
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.fit_error import none_available
from stowplan.runtime.decide.pipeline import schedule_pod, schedule_pod_with_extenders
from stowplan.runtime.decide.planned import Planned
from stowplan.runtime.decide.sources import Afresh, AnswerSource
from stowplan.runtime.groups.affinity_lists import AffinityLists
from stowplan.runtime.groups.group_status import SUCCESS, GroupStatus, failure, of_status, unschedulable
from stowplan.runtime.groups.parallel_trial import ColumnTrial
from stowplan.runtime.groups.placement_diagnosis import PlacementDiagnosis, PlannedPlacement
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.binding_points import run_in_reverse, run_permit, run_until_failure
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.points.waiting_pods import PermitWait
from stowplan.runtime.profile.profile import Profile

MIN_COLUMN_TRIAL_MEMBERS = 4
"""Smaller groups are tried member by member."""

WAITING_FOR_PREEMPTION = "pod group is waiting for preemption to complete"
_ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"
_GANG_WAITS = GroupStatus(Code.Wait, "", (GANG_WAIT.message, _ASKED_TO_WAIT))


class MemberResult:
    """One member tried in one placement. `node_name` is the node that it found, or on which it preempts."""

    __slots__ = (
        "decision",
        "node_name",
        "nominated",
        "permit",
        "placed",
        "pod",
        "rejectors",
        "requires_preemption",
        "status",
    )

    def __init__(self, pod: Pod, decision: Decision, status: GroupStatus) -> None:
        self.pod = pod
        self.decision = decision
        self.status = status
        self.node_name = decision.node_name
        self.nominated: str | None = decision.nominated_node_name
        """The nomination by PostFilter; "" clears a nomination, None leaves it as it is."""
        self.requires_preemption = False
        self.permit: GroupStatus | None = None
        """The result of Permit as a test; None if it did not run."""
        self.placed = False
        """Whether the member counts as running for the members after it."""
        self.rejectors: frozenset[str] = frozenset()
        """The plugins whose events can make the member schedulable."""


class GroupTrial(NamedTuple):
    """All members tried in one placement."""

    placement: Placement | None
    results: Sequence[MemberResult]
    status: GroupStatus
    waiting_on_preemption: bool

    @property
    def fits(self) -> bool:
        return self.status.succeeded or self.waiting_on_preemption


class MemberTrials:
    """Tries the members of a group, within its context. Every trial leaves the cluster as it was."""

    def __init__(
        self,
        profile: Profile,
        group: PodGroupInfo,
        *,
        afresh: bool = False,
        stale_affinity: bool = False,
        stale_volumes: bool = False,
    ) -> None:
        self._profile = profile
        self.calls_extenders = False
        """Whether trials suspend where an extender is to be called; else extenders take no part."""
        self._afresh = afresh or stale_affinity or stale_volumes
        self._stale_volumes = stale_volumes
        self._group = group
        self._group_state = profile.cluster.pod_groups.get(group.namespace, group.name)
        self._state = CycleState()
        self._sources: dict[Planned, PlannedPlacement] = {}
        """The kept answers of each template about the nodes of the placement that is tried."""
        self._lists = AffinityLists(profile.cluster, group.members) if stale_affinity else None
        self.repeats_refusals = not self._afresh and not _has_effects(profile)
        """Whether plugins answer equal pods alike, and change nothing when they refuse a pod."""
        self._refused: dict[PodTemplate, Decision] = {}
        """Refusals since the last member was placed; equal members are refused alike."""
        self._stand_ins: dict[str, Pod] = {}
        self._nominations: dict[str, str] = {}

    def __enter__(self) -> MemberTrials:
        """Members are in flight from here on: a nomination of a member holds no more than one pod's place, since
        kube-scheduler's queue does not know the specs of pods in flight."""
        nominator, cluster = self._profile.nominator, self._profile.cluster
        for pod in self._group.members if cluster.templates.version else ():
            self._profile.renew_templates(pod)
        for pod in self._taken():
            node = nominator.node_of(pod)
            if node:
                self._nominations[pod.uid] = node
                meta = ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
                self._stand_ins[pod.uid] = cluster.pod(api.Pod(metadata=meta))
                nominator.add(self._stand_ins[pod.uid], node)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for pod in self._taken():
            if pod.uid in self._nominations:
                self._profile.nominator.add(pod, self._nominations[pod.uid])
        self._stand_ins.clear()
        self._nominations.clear()

    def _taken(self) -> Iterator[Pod]:
        """The members that the cycle takes from the queue: those that it tries, and those that are being deleted."""
        yield from self._group.members
        state = self._group_state
        for pod in () if state is None else state.unscheduled.values():
            if pod.terminating:
                yield pod

    @property
    def state(self) -> CycleState:
        """The CycleState of the group, for the plugins of placements."""
        return self._state

    async def run(self, placement: Placement | None, *, post_filter: bool = True) -> GroupTrial:
        """Tries all members on the nodes of the placement; None: on all nodes."""
        results: list[MemberResult] = []
        placed: list[MemberResult] = []
        status, waiting, preempting = unschedulable(), False, False
        if placement is None and len(self._group.members) >= MIN_COLUMN_TRIAL_MEMBERS:
            together = self._place_all()
            if together is not None:
                return together
        self._refused.clear()
        self._sources.clear()
        with Trial(self._profile.cluster) as trial:
            try:
                for pod in self._group.members:
                    result = await self._try_member(trial, pod, placement, post_filter)
                    results.append(result)
                    if not result.placed:
                        if result.status.rejected:
                            continue
                        status = failure(f"failed to schedule other pod from a pod group: {result.status.as_error}")
                        waiting = False
                        break
                    placed.append(result)
                    preempting = preempting or result.requires_preemption
                    if result.permit is not None and result.permit.succeeded:
                        waiting = preempting
                        status = unschedulable(WAITING_FOR_PREEMPTION) if preempting else SUCCESS
            finally:
                for result in reversed(placed):
                    self._revert(trial, result.pod, result.decision.state, result.node_name)
        return GroupTrial(placement, results, status, waiting)

    def _place_all(self) -> GroupTrial | None:
        """All members on nodes of the cluster, without a decision of their own; None where one needs it."""
        profile, group, members = self._profile, self._group, self._group_state
        templates = {pod.template for pod in group.members}
        if group.rules is None or members is None or not self.repeats_refusals:
            return None
        if not all(profile.binding_points(template).only_gang for template in templates):
            return None
        found = ColumnTrial(profile, group).run()
        if found is None:
            return None
        least, there, evaluated = group.rules.min_count or 0, members.scheduled_count, len(profile.cluster.nodes)
        results = []
        for number, (pod, (name, feasible)) in enumerate(zip(group.members, found, strict=True), there + 1):
            decision = Decision(profile, pod, name, feasible, evaluated, CycleState())
            result = MemberResult(pod, decision, SUCCESS)
            result.placed, result.permit = True, SUCCESS if number >= least else _GANG_WAITS
            results.append(result)
        status = SUCCESS if there + len(found) >= least else unschedulable()
        return GroupTrial(None, results, status, waiting_on_preemption=False)

    async def _try_member(self, trial: Trial, pod: Pod, placement: Placement | None, post_filter: bool) -> MemberResult:
        nominated = pod.nominated_node_name or pod.uid in self._nominations
        repeated = None if nominated else self._refused.get(pod.template)
        if repeated is not None:
            decision = repeated
        elif self.calls_extenders and self._profile.calls_extenders(pod):
            decision = await self._decide_with_extenders(pod, placement, post_filter)
        else:
            decision = self._decide(pod, placement, post_filter)
        result = _result_of(pod, decision)
        if not decision.node_name:
            if not decision.nominated_node_name:
                if self.repeats_refusals and decision.error is None and not nominated and not pod.spec.resource_claims:
                    self._refused[pod.template] = decision
                return result
            result.node_name, result.requires_preemption = decision.nominated_node_name, True
        self._assume(trial, result)
        return result

    def _assume(self, trial: Trial, result: MemberResult) -> None:
        """Count the member on its node, and run Reserve and Permit as tests; taken back if one of them rejects it."""
        pod, state, node = result.pod, result.decision.state, result.node_name
        trial.assume(pod, node)
        self._profile.nominator.remove(pod)
        if self._lists is not None:
            self._lists.hide(pod)
        if self._stale_volumes:
            self._hide_volumes(pod, -1)
        state.write(POD_GROUP_CYCLE, self._state)
        points = self._profile.binding_points(pod.template)
        rules, members = self._group.rules, self._group_state
        if points.only_gang and rules is not None and members is not None:
            result.permit = _GANG_WAITS if is_short(members, rules) else SUCCESS
            result.placed = True
            self._refused.clear()
            return
        rejection = run_until_failure("reserve", points.reserve, state, pod, node)
        if rejection is None:
            rejection, waits = run_permit_at_once(points.permit, state, pod, node)
            result.permit = _permit_status(rejection, waits)
            if rejection is None:
                result.placed = True
                self._refused.clear()
                return
        self._revert(trial, pod, state, node)
        result.node_name, result.nominated, result.requires_preemption = "", "", False
        result.status = of_status(rejection)
        if rejection.rejected:
            reasons = ", ".join(f"1 {reason}" for reason in sorted(rejection.reasons))
            result.status = GroupStatus(rejection.code, none_available(1, reasons))
            result.rejectors = frozenset((rejection.plugin,))

    def _revert(self, trial: Trial, pod: Pod, state: CycleState, node_name: str) -> None:
        reserve = self._profile.binding_points(pod.template).reserve
        if reserve:
            run_in_reverse("unreserve", reserve, state, pod, node_name)
        if self._lists is not None:
            self._lists.show(pod)
        if self._stale_volumes:
            self._hide_volumes(pod, 1)
        trial.forget(pod)
        if pod.nominated_node_name:
            self._profile.nominator.add(self._stand_ins.get(pod.uid, pod), pod.nominated_node_name)

    def _hide_volumes(self, pod: Pod, sign: int) -> None:
        """Count the member's PersistentVolumeClaims as unused, or as used again."""
        cluster = self._profile.cluster
        cluster.shift_claims(cluster.footprint(pod.template).claims, sign)

    def _decide(self, pod: Pod, placement: Placement | None, post_filter: bool) -> Decision:
        if self._afresh:
            return self._decide_afresh(pod, placement, post_filter)
        if placement is None and post_filter:
            return self._profile.decide(pod)
        return self._decide_planned(pod, placement, post_filter)

    async def _decide_with_extenders(self, pod: Pod, placement: Placement | None, post_filter: bool) -> Decision:
        """Extenders receive the nodes of the placement that pass the filters, and do not know of members before."""
        profile = self._profile
        diagnosis = Diagnosis(profile, pod)
        if placement is not None:
            diagnosis = PlacementDiagnosis(profile, pod, placement.nodes.slots())
        try:
            return await schedule_pod_with_extenders(profile, pod, diagnosis, post_filter=post_filter)
        except (CycleError, StateNotFoundError) as problem:
            return Decision.failed(profile, pod, problem)

    def _decide_planned(self, pod: Pod, placement: Placement | None, post_filter: bool) -> Decision:
        """With kept answers; where they cannot serve, afresh."""
        profile = self._profile
        epoch = profile.epoch
        planned = None if pod.nominated_node_name else profile.planned(pod)
        if planned is None:
            return self._decide_afresh(pod, placement, post_filter)
        source: AnswerSource = planned
        if placement is not None:
            restricted = self._sources.get(planned)
            if restricted is None:
                restricted = self._sources[planned] = PlannedPlacement(profile, planned, placement.nodes.slots())
            source = restricted
        try:
            decision = schedule_pod(profile, pod, source, post_filter=post_filter)
        except (CycleError, StateNotFoundError):
            return self._decide_afresh(pod, placement, post_filter)
        return decision if epoch == profile.epoch else self._decide_afresh(pod, placement, post_filter)

    def _decide_afresh(self, pod: Pod, placement: Placement | None, post_filter: bool) -> Decision:
        diagnosis = Diagnosis(self._profile, pod, plain=True)
        if placement is not None:
            diagnosis = PlacementDiagnosis(self._profile, pod, placement.nodes.slots())
        if self._lists is not None:
            self._lists.before(pod)
        try:
            return schedule_pod(self._profile, pod, Afresh(diagnosis), post_filter=post_filter)
        except (CycleError, StateNotFoundError) as problem:
            return Decision.failed(self._profile, pod, problem)
        finally:
            if self._lists is not None:
                self._lists.after(pod)


def _has_effects(profile: Profile) -> bool:
    """Whether plugins of a profile may answer equal pods differently, or change something when they refuse a pod."""
    points = (profile.pre_filters, profile.filters, profile.post_filters)
    return bool(profile.extenders) or any(isinstance(each, OutOfTreePlugin) for point in points for each in point)


def _result_of(pod: Pod, decision: Decision) -> MemberResult:
    if decision.node_name:
        return MemberResult(pod, decision, SUCCESS)
    if decision.error is not None:
        result = MemberResult(pod, decision, GroupStatus(decision.error.code, decision.message))
        result.nominated = ""
        return result
    result = MemberResult(pod, decision, GroupStatus(Code.Unschedulable, decision.message))
    if decision.diagnosis is not None:
        rejecting, pending = decision.diagnosis.rejectors()
        result.rejectors = frozenset(rejecting | pending)
    return result


def _permit_status(rejection: Status | None, waits: dict[str, PermitWait]) -> GroupStatus:
    if rejection is not None:
        return of_status(rejection)
    if not waits:
        return SUCCESS
    message = list(waits.values())[-1].reason
    return GroupStatus(Code.Wait, "", (message, _ASKED_TO_WAIT) if message else (_ASKED_TO_WAIT,))


def run_permit_at_once(
    plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status | None, dict[str, PermitWait]]:
    """(the failure, the waits by plugin) of Permit, which runs in the cycle itself: out-of-tree plugins are called
    directly, and coroutines are rejected."""
    steps = run_permit(plugins, state, pod, node_name)
    answer: Any = None
    try:
        while True:
            answer = _called(steps.send(answer))
    except StopIteration as end:
        result: tuple[Status | None, dict[str, PermitWait]] = end.value
        return result


def _called(request: object) -> Any:
    if not isinstance(request, Call):
        return Failure("waits for something else than Permit, which is not supported for members of pod groups")
    try:
        answer = request.function()
    except Exception as problem:
        return Failure(raised(problem))
    if isinstance(answer, Coroutine):
        answer.close()
        return Failure("is a coroutine, which is not supported for members of pod groups")
    return answer
