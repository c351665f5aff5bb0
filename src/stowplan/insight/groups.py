"""Pending pods grouped by sentence.

Pods of one template that the same plugins rejected share an explanation, so a list of thousands of pods costs one
explanation for each template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from heapq import nsmallest

from msgspec.structs import replace

from stowplan.framework import Explanation, Pod
from stowplan.framework.explanation import PendingGroup, Proposal
from stowplan.insight.altered import altered_pod
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import workload_of
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.profile.profile import Profile

MAX_EXPLAINED_TEMPLATES = 50
"""In a running scheduler. An explanation takes about 15 ms with 5,000 nodes, and the loop gives a tenth of its time."""
_MAX_SAMPLE_PODS = 5
_GROUPED_PODS_PER_SLICE = 500
_MAX_PLACED_PODS = 200
_PODS_PER_SLICE = 2


def grouped(
    pods: Iterable[tuple[Hashable, Pod]],
    explain: Callable[[Pod], Slices[Explanation]],
    brief: Callable[[Pod], Explanation] | None = None,
    *,
    keep_explanations: bool = False,
    members: dict[str, list[Pod]] | None = None,
    max_explained: int | None = None,
) -> Slices[tuple[PendingGroup, ...]]:
    """Groups of the pods, which come with a key that pods with equal explanations share; the largest first. With
    `brief` only the most frequent keys are explained, 50 by default. Adds the pods of each group to `members`, by
    sentence."""
    limit = MAX_EXPLAINED_TEMPLATES if max_explained is None else max_explained
    by_key: dict[Hashable, list[Pod]] = {}
    for number, (key, pod) in enumerate(pods):
        by_key.setdefault(key, []).append(pod)
        if not number % _GROUPED_PODS_PER_SLICE:
            yield
    by_sentence: dict[str, tuple[Explanation, list[Pod]]] = {}
    for number, same in enumerate(sorted(by_key.values(), key=len, reverse=True)):
        if brief is None or number < limit:
            explanation = yield from explain(same[0])
        else:
            explanation = brief(same[0])
        by_sentence.setdefault(explanation.sentence, (explanation, []))[1].extend(same)
        yield
    groups = []
    for explanation, same in by_sentence.values():
        groups.append((yield from _group(explanation, same, keep_explanations)))
    if members is not None:
        members.update({sentence: same for sentence, (_, same) in by_sentence.items()})
    return tuple(sorted(groups, key=lambda group: (-group.pods, group.sentence)))


def _group(explanation: Explanation, pods: list[Pod], keep_explanation: bool) -> Slices[PendingGroup]:
    names: list[str] = []
    workloads: Counter[str] = Counter()
    for start in range(0, len(pods), _GROUPED_PODS_PER_SLICE):
        part = pods[start : start + _GROUPED_PODS_PER_SLICE]
        names = nsmallest(_MAX_SAMPLE_PODS, [*names, *(pod.key for pod in part)])
        for pod in part:
            workload = workload_of(pod)
            workloads[pod.key if workload is None else f"{pod.namespace}/{workload}"] += 1
        yield
    return PendingGroup(
        sentence=explanation.sentence,
        verdict=explanation.verdict,
        state=explanation.state,
        because="" if explanation.because is None else explanation.because.id,
        pods=len(pods),
        workloads=dict(sorted(workloads.items(), key=lambda item: (-item[1], item[0]))),
        sample=tuple(names),
        since=explanation.pod.since,
        explanation=explanation if keep_explanation else None,
    )


def counted_in_pods(profile: Profile, pod: Pod, group: PendingGroup) -> Slices[PendingGroup]:
    """The group with the number of its pods that get a node after each proposal."""
    explanation = group.explanation
    if explanation is None:
        return group
    proposals = []
    for proposal in explanation.proposals:
        placed = yield from _placed(profile, pod, proposal, group.pods)
        proposals.append(replace(proposal, pods=placed))
    return replace(group, explanation=replace(explanation, proposals=tuple(proposals)))


def _placed(profile: Profile, pod: Pod, proposal: Proposal, count: int) -> Slices[int]:
    """How many such pods get a node one after the other, at most 200. Each slice puts the pods placed so far back on
    their nodes first."""
    altered = altered_pod(profile, pod, proposal.change.patch) if proposal.change.patch else pod
    if proposal.change.on != "pod":
        return 0
    nodes: list[str] = []
    wanted = min(count, _MAX_PLACED_PODS)
    while len(nodes) < wanted:
        before = len(nodes)
        _place_some(profile, altered, nodes, wanted)
        yield
        if len(nodes) < min(before + _PODS_PER_SLICE, wanted):
            break
    return len(nodes)


def _place_some(profile: Profile, pod: Pod, nodes: list[str], wanted: int) -> None:
    """Place a few more pods, and append the names of their nodes."""
    cluster = profile.cluster
    with cluster.what_if() as journal:
        for number, name in enumerate(nodes):
            info = cluster.nodes.get(name)
            if info is not None:
                journal.add(_replica(pod, number), info)
        for _ in range(min(_PODS_PER_SLICE, wanted - len(nodes))):
            try:
                diagnosis = Diagnosis(profile, _replica(pod, len(nodes)), plain=True).run()
            except CycleError:
                return
            if not len(diagnosis.feasible):
                return
            points = Points.of(diagnosis)
            info = cluster.nodes.get(points.names[points.best()[0]])
            assert info is not None
            journal.add(_replica(pod, len(nodes)), info)
            nodes.append(info.name)


def _replica(pod: Pod, number: int) -> Pod:
    """A further pod of the same template."""
    return Pod(pod.template, f"{pod.name}-{number}", f"{pod.uid}/replica-{number}", pod.labels)
