"""Evaluates cases about pod groups: one pod group cycle, with every member tried in every placement."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from stowplan.api.pod import FINISHED_PHASES
from stowplan.api.pod_group import POD_GROUP_SCHEDULED
from stowplan.cache import Cluster, Trial
from stowplan.config.feature_gates import (
    GANG_SCHEDULING,
    GENERIC_WORKLOAD,
    TOPOLOGY_AWARE,
    WORKLOAD_CLAIMS,
    WORKLOAD_PREEMPTION,
    check_dependencies,
)
from stowplan.config.releases import LATEST, Release
from stowplan.errors import InputError
from stowplan.evaluation.case import GroupCase
from stowplan.evaluation.group_verdict import Verdict, error_verdict, group_verdict, idle_verdict, member_failure
from stowplan.framework import POD_GROUP_CYCLE, Pod, PodGroupInfo, Status
from stowplan.framework.pod_group import group_name
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Profile
from stowplan.runtime.groups import GroupCycle, GroupDecision
from stowplan.runtime.groups.cycle import in_order
from stowplan.runtime.groups.members import run_permit_at_once
from stowplan.runtime.points.binding_points import run_until_failure

T = TypeVar("T")

_GATES_OF_WORD: Mapping[str, tuple[str, ...]] = {
    "generic": (GENERIC_WORKLOAD,),
    "gang": (GENERIC_WORKLOAD, GANG_SCHEDULING),
    "tas": (TOPOLOGY_AWARE,),
    "wap": (WORKLOAD_PREEMPTION,),
    "claims": (WORKLOAD_CLAIMS,),
}


@cache
def with_words(release: Release, words: str) -> Release:
    """The release with the feature gates of a case: `gang+tas`."""
    gates: dict[str, bool] = {}
    for word in words.split("+"):
        if word not in _GATES_OF_WORD:
            raise InputError(f'$.gates: unknown word "{word}", expected {", ".join(_GATES_OF_WORD)} joined by "+"')
        gates |= dict.fromkeys(_GATES_OF_WORD[word], True)
    if release.version != LATEST.version:
        raise InputError(f"$.release: pod groups are decided as in {LATEST}, not as in {release}")
    check_dependencies(gates)
    return release.with_gates(gates)


class FirstChoice(random.Random):
    """Takes the first of several candidates instead of a random one."""

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]
        return seq[0]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 0 if stop is None else start


class LoadedGroup(NamedTuple):
    """The case in a cache, with its profiles by schedulerName."""

    cluster: Cluster
    nominator: Nominator
    profiles: Mapping[str, Profile]
    members: list[Pod]
    """In the order of the queue."""


def load_members(case: GroupCase, cluster: Cluster) -> list[Pod]:
    """Puts the PodGroups into the cache and reports all members; returns the pending ones."""
    for group in case.pod_groups:
        cluster.put(group)
    for pod in cluster.pods.values():
        if group_name(pod):
            cluster.pod_groups.add(pod)
    alive = [pod for pod in case.group_pods if pod.status.phase not in FINISHED_PHASES]
    members = [cluster.pod(pod) for pod in alive]
    for pod in members:
        cluster.pod_groups.add(pod)
    return members


def evaluate_group(case: GroupCase, loaded: LoadedGroup, *, fixes: bool, afresh: bool = True) -> Verdict:
    """The verdict of one pod group cycle. Without `fixes`, as kube-scheduler v1.36 with its known mistakes; without
    `afresh`, decided as a scheduler does, and members that fit have no rejections and totals."""
    profiles = loaded.profiles
    gated: dict[str, Status] = {}
    queued: list[Pod] = []
    for pod in loaded.members:
        status = profiles[pod.spec.scheduler_name].pre_enqueue(pod)
        if status is not None:
            gated[pod.name] = status
            continue
        queued.append(pod)
        loaded.nominator.add(pod)
    queued = list(in_order(queued))
    others = [pod for pod in queued if pod.spec.scheduler_name != queued[0].spec.scheduler_name]
    if others:
        text = (
            "all pods in a single pod group should have the same .spec.schedulerName set, got: "
            f'"{others[0].spec.scheduler_name}" and "{queued[0].spec.scheduler_name}"'
        )
        return error_verdict(queued, text, gated, _condition(case))
    dropped = [pod for pod in queued if pod.terminating]
    members = tuple(pod for pod in queued if not pod.terminating)
    if not members:
        return idle_verdict(dropped, gated, _condition(case))
    profile = profiles[members[0].spec.scheduler_name]
    namespace, name = case.group.namespace, case.group.name
    group = PodGroupInfo(namespace, name, loaded.cluster.pod_groups.rules(namespace, name), members)
    decision = GroupCycle(profile, group, afresh=afresh, stale_affinity=not fixes, stale_volumes=not fixes).decide()
    verdict = group_verdict(decision, dropped, gated, _condition(case))
    _bind(profile, decision, verdict)
    return verdict


def _condition(case: GroupCase) -> dict[str, str] | None:
    """The condition that the PodGroup has before the cycle; None without a PodGroup or condition."""
    wanted = (case.group.namespace, case.group.name)
    for group in case.pod_groups:
        if (group.metadata.namespace, group.metadata.name) == wanted:
            found = group.condition(POD_GROUP_SCHEDULED)
            return None if found is None else _plain(found.status, found.reason, found.message)
    return None


def _plain(status: str, reason: str, message: str) -> dict[str, str]:
    return {"status": status, "reason": reason, "message": message}


def _bind(profile: Profile, decision: GroupDecision, verdict: Verdict) -> None:
    """Reserve and Permit for real, for the members that found a node: an outcome may change to a failure, or to
    waiting."""
    if decision.result != "scheduled":
        return
    waiting: list[str] = []
    states = {result.pod.uid: result.decision.state for result in decision.trial.results}
    with Trial(profile.cluster) as trial:
        for outcome in decision.outcomes:
            if outcome.status is not None:
                continue
            pod, state, node = outcome.pod, states[outcome.pod.uid], outcome.node_name
            state.delete(POD_GROUP_CYCLE)
            trial.assume(pod, node)
            points = profile.binding_points(pod.template)
            failed = run_until_failure("reserve", points.reserve, state, pod, node)
            if failed is None:
                failed, waits = run_permit_at_once(points.permit, state, pod, node)
                waiting = [*waiting, pod.name] if waits else [] if failed is None else waiting
            if failed is not None:
                trial.forget(pod)
                verdict["outcome"][pod.name] = member_failure(failed)
    for name in waiting:
        verdict["outcome"][name]["waiting"] = True
