"""A profile: the plugins that judge pods of one schedulerName, bound to a cluster and ready to run."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Mapping
from weakref import WeakSet

from stowplan.cache import Cluster
from stowplan.framework import Plugin, Pod, PodTemplate, Status, implements
from stowplan.queue.nominator import Nominator
from stowplan.runtime import fast
from stowplan.runtime.authored import Authored
from stowplan.runtime.decision import Decision
from stowplan.runtime.outcomes import CycleError
from stowplan.runtime.plan import Plan
from stowplan.runtime.preemption.victims import Budgets
from stowplan.runtime.static import StaticAnswers
from stowplan.runtime.suppose import has_extensions
from stowplan.runtime.survey import Survey
from stowplan.runtime.ties import Ties

_PLANS_KEPT = 1024


class Profile:
    """Plugins by extension point, in the order in which they run.

    `decide` is the entry point of whoever schedules. It reads the cluster and changes nothing: applying the decision
    (assume the pod, evict the victims) is the caller's, before the next one is made.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        nominator: Nominator,
        points: Mapping[str, tuple[Plugin, ...]],
        weights: Mapping[str, int],
        rng: random.Random,
        percentage_of_nodes_to_score: int,
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.nominator = nominator
        self.rng = rng
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.points = points
        self.pre_enqueues = points["preEnqueue"]
        self.pre_filters = points["preFilter"]
        self.filters = points["filter"]
        self.post_filters = points["postFilter"]
        self.pre_scores = points["preScore"]
        self.scorers = tuple((plugin, weights[plugin.name]) for plugin in points["score"])
        by_name = {plugin.name: plugin for point in points.values() for plugin in point}
        self.cluster_plugins = tuple(plugin for plugin in by_name.values() if plugin.scope == "cluster")
        self.extensions = tuple(plugin for plugin in self.pre_filters if has_extensions(plugin))
        self.budgets = Budgets(cluster)
        self.ties = Ties(cluster.nodes, rng)
        self.static_answers = StaticAnswers(cluster.nodes)
        self._plans: OrderedDict[PodTemplate, Plan] = OrderedDict()
        self._seen_once: WeakSet[PodTemplate] = WeakSet()
        self._plans_valid = True

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Why the pod may not enter the queue, or None."""
        for plugin in self.pre_enqueues:
            status = plugin.pre_enqueue(pod)
            if status is not None and status.code:
                return status.with_plugin(plugin.name)
        return None

    def decide(self, pod: Pod) -> Decision:
        """Where the pod goes."""
        if pod.nominated_node_name or pod.node_name:
            return self.decide_afresh(pod)
        try:
            plan = self._plan(pod)
            if plan is None or not len(self.cluster.nodes):
                return self.decide_afresh(pod)
            decision = fast.decide(self, plan, pod)
        except CycleError as failure:
            return Decision.failed(self, pod, failure)
        # A plugin may have been found out, while it was asked, to answer for this pod only.
        return decision if self._plans_valid else self.decide_afresh(pod)

    def decide_afresh(self, pod: Pod) -> Decision:
        """The same decision made without anything remembered from earlier ones."""
        try:
            survey = Survey(self, pod).run()
            if not len(survey.feasible):
                return Decision.unschedulable(survey)
            return Decision.on_best(survey)
        except CycleError as failure:
            return Decision.failed(self, pod, failure)

    def forget_plans(self) -> None:
        """Nothing remembered holds any longer."""
        self._plans.clear()
        self._seen_once.clear()
        self.static_answers.clear()
        self._plans_valid = False

    def scores_by_cycle(self, plugin: Plugin) -> bool:
        """Whether scores need more than a node at a time: a normaliser of the plugin's own, or what PreScore found."""
        if isinstance(plugin, Authored):
            return plugin.has_normalize_nodes or plugin.has_normalize_score or plugin.has_pre_score
        return implements(type(plugin), "normalize_nodes")

    def _plan(self, pod: Pod) -> Plan | None:
        """The plan of the pod's template, kept from its second pod on; None where none is of use."""
        self._plans_valid = True
        template = pod.template
        plan = self._plans.get(template)
        if plan is None:
            plan = Plan(self, pod)
            if template in self._seen_once:
                self._plans[template] = plan
                if len(self._plans) > _PLANS_KEPT:
                    self._plans.popitem(last=False)
            else:
                self._seen_once.add(template)
        elif len(self._plans) > 1:
            self._plans.move_to_end(template)
        return None if plan.plain else plan
