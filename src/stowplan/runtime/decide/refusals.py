"""The memory of refusals: a template that no node is feasible for stays refused until something relevant changes.

Pods of one template get the same diagnosis and message in the same state of the cluster. A refusal is recalled while
node objects and rules are the same; nodes on which pods came or went or were nominated since are filtered again, one by
one.
Where the pod might preempt others and no evictions help, the refusal is recalled only as long as nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stowplan.cache.kept import MAX_SCALAR_REPAIRS
from stowplan.framework import NodeInfo, Pod, PodTemplate, Status
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import NO_OBJECTION
from stowplan.runtime.decide.nominated_pods import NominatedPodsFilter, Verdict
from stowplan.runtime.decide.pipeline import run_to_end
from stowplan.runtime.points.cycle_error import CycleError, failed_at
from stowplan.runtime.points.post_filter import run_post_filters
from stowplan.runtime.preemption.search import nodes_where_preemption_might_help

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile

_MAX_REFUSALS = 256
"""Templates whose refusal is remembered; each takes eight bytes for each node."""

_HARMLESS = ("DefaultPreemption", "SchedulingGates")
"""Plugins whose PreEnqueue and PostFilter are the same for equal pods, as long as there are no victims."""

SlotFilter = Callable[[int], Status | None]


class KeptRefusal:
    """The refusal of one template, brought up to date by `recall`."""

    __slots__ = (
        "_by_slot",
        "_decision",
        "_filters",
        "_nominations",
        "_position",
        "_profile",
        "_searched",
        "_stamp",
        "exact",
        "has_feasible_node",
        "used",
    )

    def __init__(self, profile: Profile, decision: Decision, diagnosis: Diagnosis) -> None:
        self._profile = profile
        self._decision = decision
        self._stamp = _stamp(profile)
        self._position = profile.cluster.nodes.log.position
        self._nominations = profile.nominator.version
        self._filters: dict[str, tuple[SlotFilter, ...]] = {}
        """Filters to run again on a node, by the plugin that rejected the node before; made on first use."""
        skipped, by_scope = diagnosis.state.skip_filter, profile.plugins_by_scope.of(decision.pod.template)
        active = [plugin for plugin in by_scope.cluster_filters if plugin.name not in skipped]
        self._by_slot = not active and diagnosis.pre_filtered is NO_OBJECTION
        """Whether the answer about a node depends on that node alone."""
        self._searched = 0
        """Nodes that were searched for victims, from a random one on."""
        self.exact = profile.may_preempt(decision.pod)
        """Whether a search for victims failed, so that a pod that starts or ends anywhere may change the answer."""
        if self.exact:
            self._searched = len(nodes_where_preemption_might_help(diagnosis))
            self._by_slot = False
        self.has_feasible_node = False
        """Whether the last recall found a node that is feasible now: once a pod has taken it, the refusal may hold
        again."""
        self.used = 0

    def recall(self, pod: Pod) -> Decision | None:
        """The decision about an equal pod, if it is a refusal again; None if only a new decision shows it. The pod is
        not nominated."""
        self.has_feasible_node = False
        profile = self._profile
        if self._stamp != _stamp(profile):
            return None
        position, nominations = profile.cluster.nodes.log.position, profile.nominator.version
        if position != self._position or nominations != self._nominations:
            slots = self._changed_slots() if self._by_slot else None
            if slots is None:
                return None
            try:
                if not self._repair(slots, pod):
                    self.has_feasible_node = True
                    return None
            except CycleError:
                return None
            self._position, self._nominations = position, nominations
        if self._searched:
            profile.rng.randrange(self._searched)  # As the search does: later random choices stay the same.
        return self._decision

    def _changed_slots(self) -> set[int] | None:
        """The nodes on which pods came or went or were nominated; None if these are too many."""
        nodes, nominator = self._profile.cluster.nodes, self._profile.nominator
        recent = nodes.log.recent(self._position, MAX_SCALAR_REPAIRS)
        if recent is None:
            return None
        slots = set(recent)
        if nominator.version != self._nominations:
            names = nominator.changed_since(self._nominations)
            if names is None:
                return None
            slots.update(info.slot for name in names if (info := nodes.get(name)) is not None)
        return slots

    def _repair(self, slots: set[int], pod: Pod) -> bool:
        """Filter nodes again whose pods changed; False if one of them is feasible now."""
        known = self._decision.diagnosis
        assert known is not None
        changed: dict[int, Status] = {}
        for slot in slots:
            before = known.status_of(slot)
            status = self._filter(slot, before, pod)
            if status is None:
                return False
            if status is not before and status != before:
                changed[slot] = status
        if changed:
            self._decision = _decide_again(known, changed)
            self._decision.refusal = self
        return True

    def _filter(self, slot: int, before: Status | None, pod: Pod) -> Status | None:
        if self._profile.nominator.by_node:
            has_rivals, status = self._filter_with_nominated_pods(slot, pod)
            if has_rivals:
                return status
        rejector = "" if before is None else before.plugin
        filters = self._filters.get(rejector)
        if filters is None:
            filters = self._filters[rejector] = self._bind_filters(rejector)
        for check in filters:
            if (status := check(slot)) is not None:
                return status
        return None

    def _filter_with_nominated_pods(self, slot: int, pod: Pod) -> Verdict:
        diagnosis, info = self._decision.diagnosis, self._profile.cluster.nodes.infos[slot]
        assert diagnosis is not None
        assert info is not None
        if info.name not in self._profile.nominator.by_node:
            return False, None
        return NominatedPodsFilter(self._profile, diagnosis.state, pod).filter(info)

    def _bind_filters(self, rejector: str) -> tuple[SlotFilter, ...]:
        """The filters whose answer about a node that a plugin rejected may change with the pods on it. Filters before
        this plugin passed the node; those that read the node object alone still do."""
        diagnosis, profile = self._decision.diagnosis, self._profile
        assert diagnosis is not None
        skipped = diagnosis.state.skip_filter
        plugins = [plugin for plugin in profile.filters if plugin.name not in skipped]
        names = [plugin.name for plugin in plugins]
        passed = names.index(rejector) if rejector in names else 0
        again = [plugin for at, plugin in enumerate(plugins) if at >= passed or plugin.scope != "node"]
        return tuple(_slot_filter(plugin, diagnosis) for plugin in again)


class RefusalMemory:
    """The latest refusals of a profile, by template. Those not used for the longest time are dropped first."""

    def __init__(self, profile: Profile, *, enabled: bool) -> None:
        self.enabled = enabled
        """Whether refusals are remembered; decisions are the same without."""
        self._profile = profile
        self.by_template: dict[PodTemplate, KeptRefusal] = {}
        self._turn = 0

    def recall(self, pod: Pod) -> Decision | None:
        """The decision about this or an equal pod whose template is refused as before; None if there is no such
        refusal."""
        refusal = self.by_template.get(pod.template)
        if refusal is None or not self.enabled or self._is_nominated(pod):
            return None
        self._turn = refusal.used = self._turn + 1
        known = refusal.exact or not self._profile.may_preempt(pod)
        decision = refusal.recall(pod) if known else None
        if decision is None and not (known and refusal.has_feasible_node):
            del self.by_template[pod.template]
        return decision

    def remember(self, decision: Decision) -> None:
        """Keep a decision if it is a refusal that equal pods share."""
        pod, diagnosis, profile = decision.pod, decision.diagnosis, self._profile
        if diagnosis is None or decision.preemption is not None or not self.enabled:
            return
        if pod.template.large or self._is_nominated(pod) or not self._is_shared(pod):
            return
        decision.refusal = refusal = self.by_template[pod.template] = KeptRefusal(profile, decision, diagnosis)
        self._turn = refusal.used = self._turn + 1
        if len(self.by_template) > _MAX_REFUSALS:
            oldest = sorted(self.by_template, key=lambda template: self.by_template[template].used)
            for template in oldest[: _MAX_REFUSALS // 8]:
                del self.by_template[template]

    def clear(self) -> None:
        self.by_template.clear()

    def _is_nominated(self, pod: Pod) -> bool:
        return bool(pod.nominated_node_name or pod.node_name or self._profile.nominator.node_of(pod))

    def _is_shared(self, pod: Pod) -> bool:
        """Whether refusals depend on nothing but the template and the cache, and PostFilter has no effects."""
        return pod.template.derive((self, "shared"), self._concerns_only_cached_state)

    def _concerns_only_cached_state(self, template: PodTemplate) -> bool:
        profile = self._profile
        if any(p.name not in _HARMLESS for p in (*profile.pre_enqueues, *profile.post_filters) if p.concerns(template)):
            return False
        by_scope = profile.plugins_by_scope.of(template)
        plugins = {*by_scope.pre_filters, *by_scope.node_filters, *by_scope.pod_filters, *by_scope.cluster_filters}
        return template.spec.scheduling_group is None and all(p.scope != "cluster" or p.reads_cache for p in plugins)


def _stamp(profile: Profile) -> tuple[int, int, int]:
    """Changes with everything that refusals depend on besides the pods on nodes and nominations."""
    cluster = profile.cluster
    return (cluster.nodes.version, cluster.selection.rules_version, profile.epoch)


def _slot_filter(plugin: InTreePlugin, diagnosis: Diagnosis) -> SlotFilter:
    """The plugin's filter as a function of the slot, with the plugin's name in its status."""
    check = plugin.slot_filter(diagnosis.pod.template)
    infos, state, pod = diagnosis.profile.cluster.nodes.infos, diagnosis.state, diagnosis.pod

    def run(slot: int) -> Status | None:
        info: NodeInfo | None = infos[slot]
        assert info is not None
        status = plugin.filter(state, pod, info) if check is None else check(slot)
        if status is None or not status.code:
            return None
        if not status.rejected:
            raise failed_at("filter", plugin.name, status.message)
        return status.with_plugin(plugin.name)

    return run


def _decide_again(known: Diagnosis, changed: dict[int, Status]) -> Decision:
    """The decision with other statuses of some nodes."""
    diagnosis = known.revised(changed)
    return Decision.unschedulable(diagnosis, run_to_end(run_post_filters(diagnosis)))
