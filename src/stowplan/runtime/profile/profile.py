"""A profile: the plugins for pods of one schedulerName, bound to a cluster and ready to run.

Upstream: pkg/scheduler/schedule_one.go (schedulePod), pkg/scheduler/framework/runtime/framework.go (frameworkImpl)
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from stowplan.cache import Cluster
from stowplan.framework import Pod, PodTemplate, StateNotFoundError, Status
from stowplan.framework.extender import Extender, ExtenderVerb
from stowplan.plugins.base import InTreePlugin
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.pipeline import schedule_pod, schedule_pod_with_extenders
from stowplan.runtime.decide.planned import Planned
from stowplan.runtime.decide.refusals import RefusalMemory
from stowplan.runtime.decide.sampling import Sampler
from stowplan.runtime.decide.shared_answers import SharedNodeAnswers
from stowplan.runtime.decide.sources import Afresh, AnswerSource, Shared
from stowplan.runtime.decide.ties import Ties, rank_type
from stowplan.runtime.decide.what_if import has_extensions
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin, plugin_bugs
from stowplan.runtime.points.binding_points import BindingPoints
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.victims import Budgets
from stowplan.runtime.profile.plugins_by_scope import PluginsByScope

_MAX_PLANS = 1024
_DECIDING_VERBS: tuple[ExtenderVerb, ...] = ("filter", "prioritize", "preempt")


class Profile:
    """Plugins by extension point, in the order in which they run.

    `decide` reads the cluster and changes nothing. The caller applies the decision (assumes the pod, evicts the
    victims) before it requests the next one.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        nominator: Nominator,
        points: Mapping[str, tuple[InTreePlugin, ...]],
        weights: Mapping[str, int],
        rng: random.Random,
        sampler: Sampler | None = None,
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.nominator = nominator
        self.rng = rng
        self.sampler = sampler
        """Present if the configuration limits the number of nodes to filter."""
        self.points = points
        self.extenders: tuple[Extender, ...] = ()
        """In the order in which they are called."""
        self.pre_enqueues = points["preEnqueue"]
        self.pre_filters = points["preFilter"]
        self.filters = points["filter"]
        self.post_filters = points["postFilter"]
        self.pre_scores = points["preScore"]
        self.scorers = tuple((plugin, weights[plugin.name]) for plugin in points["score"])
        self.placement_weights: Mapping[str, int] = {}
        """Of the PlacementScore plugins, by name."""
        self.plugin_names: frozenset[str] = frozenset()
        """All plugins that the configuration enables, also those that are disabled at every point."""
        self.extensions = tuple(plugin for plugin in self.pre_filters if has_extensions(plugin))
        self.plugins_by_scope = PluginsByScope(self)
        self.budgets = Budgets(cluster)
        self.ties = Ties(cluster.nodes, rng)
        self.rank_type = rank_type(weight for _, weight in self.scorers)
        self.static_answers = SharedNodeAnswers(cluster.nodes)
        listed = (*self.pre_filters, *self.filters, *self.post_filters)
        self._in_tree = not any(isinstance(plugin, OutOfTreePlugin) for plugin in listed)
        own_rules = [p for p in self.post_filters if type(p).victim_rules is not InTreePlugin.victim_rules]
        self._evicts_by_priority = not own_rules
        enqueuing = not any(isinstance(plugin, OutOfTreePlugin) for plugin in self.pre_enqueues)
        self.refusals = RefusalMemory(self, enabled=self._in_tree and enqueuing)
        self._plans: dict[PodTemplate, Planned] = {}
        self._turn = 0
        self._templates_version = 0
        self._binding_points_key, self._enqueue_key = (self, "binding"), (self, "pre_enqueue")
        self.epoch = 0
        """Incremented when all plans are dropped. `template.derived[profile]` is (epoch of the last decision, plan)."""

    def plugin_bugs(self) -> dict[str, str]:
        """The first bug of each out-of-tree plugin that has shown one, by the plugin's name."""
        return plugin_bugs(plugin for plugins in self.points.values() for plugin in plugins)

    def pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """The status that keeps the pod out of the queue, or None. The plugin named `first` runs before all others."""
        plugins: tuple[InTreePlugin, ...] | None = pod.template.derived.get(self._enqueue_key)
        if plugins is None:
            plugins = tuple(plugin for plugin in self.pre_enqueues if plugin.concerns(pod.template))
            pod.template.derived[self._enqueue_key] = plugins
        if first:
            plugins = tuple(sorted(plugins, key=lambda plugin: plugin.name != first))
        for plugin in plugins:
            status = plugin.pre_enqueue(pod)
            if status is not None and status.code:
                return status.with_plugin(plugin.name)
        return None

    def binding_points(self, template: PodTemplate) -> BindingPoints:
        """The plugins that concern pods of the template at the points after a node is chosen."""
        found: BindingPoints | None = template.derived.get(self._binding_points_key)
        if found is None:
            found = template.derived[self._binding_points_key] = BindingPoints.of(self, template)
        return found

    def decide(self, pod: Pod) -> Decision:
        """Decides on which node the pod runs."""
        if self.cluster.templates.version:
            self.renew_templates(pod)
        decision = self.refusals.recall(pod) if self.refusals.by_template else None
        if decision is None:
            decision = self._decide(pod)
            if not decision.node_name:
                self.refusals.remember(decision)
        elif decision.pod is not pod:
            decision = decision.about(pod)
        if self.sampler is not None and not (decision.node_name and decision.node_name == pod.nominated_node_name):
            self.sampler.rotation.advance(decision.evaluated)
        return decision

    def recall(self, pod: Pod) -> Decision | None:
        """The decision about this or an equal pod if it is a refusal that is remembered; None if only `decide` shows
        it."""
        return None if self.sampler is not None else self.refusals.recall(pod)

    def _decide(self, pod: Pod) -> Decision:
        if pod.nominated_node_name or pod.node_name:
            return self._decide_afresh(pod, plain=False)
        epoch, derived = self.epoch, pod.template.derived
        seen = derived.get(self)
        try:
            source: AnswerSource
            if seen is None or seen[0] != epoch:
                derived[self] = (epoch, None)
                source = Shared(self, pod)
            else:
                source = planned = seen[1] or self._plan(pod)
                self._turn = planned.used = self._turn + 1
                if planned.plan.plain:
                    return self._decide_afresh(pod, plain=False)
            decision = schedule_pod(self, pod, source)
        except (CycleError, StateNotFoundError) as problem:
            # Possibly about a node that kube-scheduler would not have filtered: the definition decides.
            decision = self._decide_afresh(pod, plain=False)
            if decision.error is None and isinstance(problem, CycleError):
                self._stop_keeping(problem.status)
            return decision
        # The plugin may have read a field of this pod only, so that kept answers are invalid.
        return decision if epoch == self.epoch else self._decide_afresh(pod, plain=False)

    def _stop_keeping(self, failure: Status) -> None:
        """Keep no answers of an out-of-tree plugin that fails only for nodes that are not feasible: a decision that
        meets such a node has to be made afresh."""
        for plugin in (*self.filters, *(scorer for scorer, _ in self.scorers)):
            if plugin.name == failure.plugin and isinstance(plugin, OutOfTreePlugin):
                plugin.fails_for_infeasible_nodes(failure.message)

    def may_preempt(self, pod: Pod) -> bool:
        """Whether PostFilter may find victims."""
        if pod.spec.preemption_policy == "Never" or not self.post_filters:
            return False
        return not self._evicts_by_priority or min(self.cluster.priorities, default=pod.priority) < pod.priority

    def planned(self, pod: Pod) -> Planned | None:
        """The kept answers for pods of the template, made if there are none; None if the template has no use for
        them. A change of `epoch` during a decision makes its result void."""
        seen = pod.template.derived.get(self)
        planned: Planned = (seen[1] if seen is not None and seen[0] == self.epoch else None) or self._plan(pod)
        self._turn = planned.used = self._turn + 1
        return None if planned.plan.plain else planned

    def calls_extenders(self, pod: Pod) -> bool:
        """Whether an extender takes part in the decision. If so, use `decide_with_extenders`."""
        return any(
            extender.is_interested(pod) and any(extender.serves(verb) for verb in _DECIDING_VERBS)
            for extender in self.extenders
        )

    async def decide_with_extenders(self, pod: Pod) -> Decision:
        """Like `decide`; suspends at each call of an extender. The cluster must not change until it ends."""
        if self.cluster.templates.version:
            self.renew_templates(pod)
        try:
            decision = await schedule_pod_with_extenders(self, pod, Diagnosis(self, pod))
        except (CycleError, StateNotFoundError) as problem:
            decision = Decision.failed(self, pod, problem)
        if self.sampler is not None and not (decision.diagnosis is not None and decision.diagnosis.on_nominated_node):
            self.sampler.rotation.advance(decision.evaluated)
        return decision

    def decide_afresh(self, pod: Pod) -> Decision:
        """The same decision without any kept answers."""
        return self._decide_afresh(pod, plain=True)

    def explain_decision(self, pod: Pod) -> Decision:
        """The decision about the pod as the cluster is now, for an explanation: later decisions are not affected."""
        state = self.rng.getstate()
        try:
            return self._decide_afresh(pod, plain=False)
        finally:
            self.rng.setstate(state)

    def _decide_afresh(self, pod: Pod, *, plain: bool) -> Decision:
        try:
            return schedule_pod(self, pod, Afresh(Diagnosis(self, pod, plain=plain)))
        except (CycleError, StateNotFoundError) as problem:
            return Decision.failed(self, pod, problem)

    def renew_templates(self, pod: Pod) -> None:
        """Gives the pod, and nominated pods, a new template if their template lacks a label that is read since it was
        made."""
        waiting = [pod]
        if self._templates_version != self.cluster.templates.version:
            self._templates_version = self.cluster.templates.version
            waiting += [other for pods in self.nominator.by_node.values() for other in pods.values()]
        for other in waiting:
            if len(other.labels) != len(other.template.labels):
                self.cluster.retemplate(other)

    def set_weights(self, weights: Mapping[str, int]) -> None:
        """Other weights of score plugins, by name, from the next decision on; the others keep theirs. Drops all kept
        answers."""
        self.scorers = tuple((plugin, weights.get(plugin.name, weight)) for plugin, weight in self.scorers)
        self.rank_type = rank_type(weight for _, weight in self.scorers)
        self.forget_plans()

    def forget_plans(self) -> None:
        """Drops all kept answers."""
        for template in self._plans:
            del template.derived[self]
        self._plans.clear()
        self.static_answers.clear()
        self.refusals.clear()
        self.plugins_by_scope = PluginsByScope(self)
        self.epoch += 1

    def _plan(self, pod: Pod) -> Planned:
        """A plan for the template of the pod, the second one of its template. Drops the plans that were not used for
        the longest time if there are too many."""
        plan = Planned(self, pod)
        plan.used = self._turn
        pod.template.derived[self] = (self.epoch, plan)
        if pod.template.large:
            return plan
        self._plans[pod.template.base or pod.template] = plan
        if len(self._plans) > _MAX_PLANS:
            for template in sorted(self._plans, key=lambda template: self._plans[template].used)[: _MAX_PLANS // 8]:
                del self._plans[template]
                template.derived[self] = (self.epoch, None)
        return plan
