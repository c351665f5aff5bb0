"""Explanations of members of pod groups: how many members fit, and why the first of the others does not."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan.cache import Trial
from stowplan.config.feature_gates import GENERIC_WORKLOAD
from stowplan.framework import Explanation, Pod, PodGroupInfo, Status
from stowplan.framework.explanation import EXPLANATION_VERSION, Because, Change, Step
from stowplan.framework.pod_group import group_name
from stowplan.insight.explain import explain, explained_pod
from stowplan.insight.slices import Slices, run
from stowplan.runtime.groups import GroupCycle, GroupDecision
from stowplan.runtime.groups.cycle import in_order
from stowplan.runtime.groups.group_status import mixed_schedulers
from stowplan.runtime.groups.members import GroupTrial, MemberResult
from stowplan.runtime.profile.profile import Profile

MAX_MEMBERS_WHILE_RUNNING = 64
"""Members of a group that a running scheduler explains; larger groups would hold it up."""

_PLUGIN = "GangScheduling"


def group_of_member(profile: Profile, pod: Pod, pending: Iterable[Pod]) -> PodGroupInfo | None:
    """The pod's group with the members that a cycle would try now; None for a pod that is scheduled alone."""
    cluster, name = profile.cluster, group_name(pod)
    if not name or not cluster.release.has(GENERIC_WORKLOAD):
        return None
    members = [
        each
        for each in pending
        if group_name(each) == name
        and each.namespace == pod.namespace
        and each.uid not in cluster.pods
        and not each.terminating
        and profile.pre_enqueue(each) is None
    ]
    if all(each.uid != pod.uid for each in members):  # A pod of a scheduler of which there is no profile.
        members = [each for each in members if _scheduler_name(each) == _scheduler_name(pod)]
    members.sort(key=lambda each: each.name)
    rules = cluster.pod_groups.rules(pod.namespace, name)
    return PodGroupInfo(pod.namespace, name, rules, in_order(members))


def gang_gate_sentence(profile: Profile, pod: Pod, status: Status) -> str:
    """What a member waits for that GangScheduling keeps out of the queue; "" for other pods."""
    if status.plugin != _PLUGIN:
        return ""
    groups, name = profile.cluster.pod_groups, group_name(pod)
    rules, state = groups.rules_of(pod), groups.of(pod)
    if rules is None:
        return f"Waits for PodGroup {pod.namespace}/{name}, which does not exist."
    there, least = 0 if state is None else len(state.all), rules.min_count or 0
    missing = least - there
    return (
        f"Waits for {missing} more {'member' if missing == 1 else 'members'} of pod group {name}: "
        f"{there} of {least} (minCount) {'exists' if there == 1 else 'exist'}."
    )


def explain_member(profile: Profile, pod: Pod, group: PodGroupInfo, *, top: int) -> Slices[Explanation]:
    """Why a member has no node, or does not get the node that it would fit on."""
    mixed = mixed_schedulers(group.members)
    if mixed is not None:
        return _of_two_schedulers(pod, group, mixed.message)
    decision = GroupCycle(profile, group, spares_members=True).decide()
    yield
    trial = _best(decision)
    results = {result.pod.uid: result for result in trial.results}
    own = results.get(pod.uid)
    missing = own if own is not None and not own.placed else _first_missing(trial)
    found = _nothing_missing(pod, group, decision)
    if missing is not None:
        found = _without_members(_explain_missing(profile, trial, missing, top), trial)
        found = replace(found, steps=_steps(profile, group, trial, found.steps))
    fitting = sum(result.placed for result in trial.results)
    facts = _facts(group, trial, fitting, missing)
    start = _start(profile, group, trial, fitting)
    if missing is None:
        sentence = f"{start} {found.sentence}"
    else:
        sentence = f"{start} {missing.pod.name} does not: {found.sentence}"
    because = Because(id="pod-group", plugin=_PLUGIN, facts=facts)
    status = next((each.status for each in decision.outcomes if each.pod.uid == pod.uid), None)
    return replace(
        found,
        pod=explained_pod(pod),
        verdict="fits" if decision.result == "scheduled" and own is not None and own.placed else found.verdict,
        sentence=sentence,
        # What is said about pods that leave concerns the other members, which are on no node.
        more=(),
        because=because,
        message="" if status is None else status.message,
    )


def _of_two_schedulers(pod: Pod, group: PodGroupInfo, message: str) -> Explanation:
    names = list(dict.fromkeys(map(_scheduler_name, group.members)))
    text = f"Members of pod group {group.name} name different schedulers: {' and '.join(names)}. All have to name one."
    facts = {"podGroup": f"{group.namespace}/{group.name}", "members": len(group.members), "schedulers": names}
    because = Because(id="pod-group", plugin=_PLUGIN, facts=facts)
    return replace(_short(pod, text), because=because, message=message)


def _scheduler_name(pod: Pod) -> str:
    return pod.template.spec.scheduler_name


def _best(decision: GroupDecision) -> GroupTrial:
    """The placement in which the most members fit, the largest of several; without placements the only run."""
    trials = decision.search.trials if decision.search is not None else []
    if decision.result == "scheduled" or not trials:
        return decision.trial
    return max(trials, key=lambda trial: (sum(result.placed for result in trial.results), _size(trial)))


def _size(trial: GroupTrial) -> int:
    return 0 if trial.placement is None else trial.placement.nodes.meant


def _first_missing(trial: GroupTrial) -> MemberResult | None:
    return next((result for result in trial.results if not result.placed), None)


def _explain_missing(profile: Profile, trial: GroupTrial, missing: MemberResult, top: int) -> Explanation:
    """The explanation of one member, with the other members on their nodes. Runs in one piece."""
    text = missing.status.message
    placement, within = trial.placement, None
    if placement is not None and placement.nodes.meant != len(profile.cluster.nodes):
        within = placement.nodes.slots()
    with Trial(profile.cluster) as assumed:
        for result in trial.results:
            if result.placed:
                assumed.assume(result.pod, result.node_name)
        return run(explain(profile, missing.pod, top=top, message=text, within=within))


def _without_members(found: Explanation, trial: GroupTrial) -> Explanation:
    """Without the changes in which another member leaves."""
    members = {result.pod.key for result in trial.results}
    closest = [
        replace(each, changes=tuple(change for change in each.changes if members.isdisjoint(_leaving(change))))
        for each in found.closest
    ]
    return replace(found, closest=tuple(closest))


def _steps(profile: Profile, group: PodGroupInfo, trial: GroupTrial, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of a member in a domain begin with all nodes, too."""
    domain = _domain(group, trial)
    if not domain or not steps:
        return steps
    total = len(profile.cluster.nodes)
    left = steps[0].left
    first = Step(left=left, lost=total - left, rule=f"with {domain}", plugin="TopologyPlacementGenerator")
    return (replace(steps[0], left=total), first, *steps[1:])


def _domain(group: PodGroupInfo, trial: GroupTrial) -> str:
    """The topology key and its value; "" without a constraint."""
    rules, placement = group.rules, trial.placement
    if rules is None or not rules.topology_key or placement is None or not placement.name:
        return ""
    return f"{rules.topology_key}={placement.name}"


def _leaving(change: Change) -> set[str]:
    return {each.pod for each in change.pods}.union(*map(_leaving, change.parts))


def _nothing_missing(pod: Pod, group: PodGroupInfo, decision: GroupDecision) -> Explanation:
    if decision.result == "scheduled":
        return _short(pod, "All of them are bound in the next attempt.")
    search, key = decision.search, "" if group.rules is None else group.rules.topology_key
    if search is not None and search.error is not None:
        if search.error.rejected and key and not search.placements:
            return _short(pod, f"No node has the label {key}, of which all members need one value.")
        return _short(pod, f"{search.error.message[:1].upper()}{search.error.message[1:]}.")
    return _short(pod, "More members have to exist, or to pass their gates.")


def _short(pod: Pod, text: str) -> Explanation:
    return Explanation(
        version=EXPLANATION_VERSION, pod=explained_pod(pod), state="pending", verdict="not-now", sentence=text
    )


def _start(profile: Profile, group: PodGroupInfo, trial: GroupTrial, fitting: int) -> str:
    rules, state = group.rules, profile.cluster.pod_groups.get(*group[:2])
    running = 0 if state is None else state.scheduled_count
    domain = _domain(group, trial)
    where = f" in {domain}" if domain else ""
    text = f"{fitting} of {len(group.members)} pending members of pod group {group.name} fit{where}"
    if running:
        text += f", {running} {'has' if running == 1 else 'have'} a node"
    if rules is not None and rules.min_count is not None:
        text += f"; {rules.min_count} {'is' if rules.min_count == 1 else 'are'} needed"
    return f"{text}."


def _facts(group: PodGroupInfo, trial: GroupTrial, fitting: int, missing: MemberResult | None) -> dict[str, object]:
    facts: dict[str, object] = {"podGroup": f"{group.namespace}/{group.name}", "members": len(group.members)}
    facts["fitting"] = fitting
    if group.rules is not None and group.rules.min_count is not None:
        facts["minCount"] = group.rules.min_count
    if trial.placement is not None and trial.placement.name:
        facts["domain"] = trial.placement.name
    if missing is not None:
        facts["missing"] = missing.pod.key
    return facts
