"""The cluster as one object: nodes, pods, counts and stores, consistent after every change.

Upstream: pkg/scheduler/backend/cache/cache.go (AddPod, AssumePod, ForgetPod, AddNode)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stowplan import api
from stowplan.api.meta import add_wire_names
from stowplan.cache.columns import Column, ScalarColumn
from stowplan.cache.counts import SlotCounts
from stowplan.cache.journal import Journal
from stowplan.cache.large_templates import LargeTemplates
from stowplan.cache.nodes import PODS_PER_HANDICAP, NodeTable
from stowplan.cache.pod_group_states import PodGroupStates
from stowplan.cache.ports import HostPort, PortTable, wanted_ports
from stowplan.cache.selection import PodClass, PodSelector, Selection, carried_terms
from stowplan.cache.stores import ApiObject, Stores, key_of
from stowplan.cache.templates import Templates
from stowplan.config.releases import LATEST, Release
from stowplan.errors import StowplanError
from stowplan.framework import NodeInfo, Pod, PodTemplate
from stowplan.framework.pod import AnnotationKeys, detach_details


class CacheError(StowplanError):
    """A change that contradicts the cache."""


Deltas = list[tuple[Column, int]]


class Footprint:
    """The amounts that each pod of a template adds to the columns, computed once."""

    __slots__ = ("claims", "deltas", "on_nodes", "pod_class", "ports", "scalars", "terms")

    def __init__(self, cluster: Cluster, template: PodTemplate) -> None:
        self.on_nodes = 0
        """The number of pods on nodes that count by it."""
        self.deltas, self.scalars = cluster.deltas(template.requests, template.non_zero_requests)
        self.pod_class: PodClass = cluster.selection.class_of(template.namespace, template.labels)
        self.terms: list[SlotCounts] = [cluster.selection.term_counts(kind) for kind in carried_terms(template)]
        self.ports: tuple[HostPort, ...] = wanted_ports(template)
        self.claims: tuple[str, ...] = tuple(
            f"{template.namespace}/{volume.persistent_volume_claim.claim_name}"
            for volume in template.spec.volumes
            if volume.persistent_volume_claim is not None
        )


_NOT_READ_BY_FILTERS = frozenset(
    (api.PodDisruptionBudget, api.PodGroup, api.CoschedulingPodGroup, api.ElasticQuota, api.NodeResourceTopology)
)
"""Kinds that filters and scores of default plugins do not read. Budgets matter to preemption alone, PodGroups to the
cycles of their groups, the others to optional plugins."""


class Cluster:
    """Nodes, pods and other objects, as columns.

    Pods on unknown nodes are not counted until the node appears. Cycles read the live columns: there are no snapshots,
    because nothing changes during a scheduling cycle.
    """

    def __init__(self, *, keep_objects: bool = False, release: Release = LATEST) -> None:
        self.keep_objects = keep_objects
        self.release = release
        """The release of kube-scheduler whose rules apply; plugins read it when they are built."""
        self.backs_extended_resources = release.has("DRAExtendedResource")
        """Whether device classes may stand behind extended resources."""
        self.nodes = NodeTable()
        self.selection = Selection()
        self.selection.grow(self.nodes.capacity)
        self.templates = Templates(release)
        self.large_templates = LargeTemplates(_forget_derived)
        self.stores = Stores()
        self.ports = PortTable()
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()
        self.evicted: set[str] = set()
        """Victims of preemption that the API server has deleted and the watch still shows as running."""
        self.claim_users: dict[str, int] = {}
        """How many pods on nodes use a PersistentVolumeClaim, by "namespace/name"."""
        self.priorities: dict[int, int] = {}
        """How many pods on nodes have a priority, for each that occurs."""
        self.missing_kinds: set[str] = set()
        """Kinds that the API server does not serve and that pods may need."""
        self.shared: dict[str, Any] = {}
        """State that plugins of several profiles share, by name."""
        self._homeless: dict[str, dict[str, Pod]] = {}
        self._follows_pods = False
        self.journal = Journal(self)
        self.selection.moves = self.journal.moves
        self.pod_groups = PodGroupStates(self.stores)
        """Filled where the feature gate GenericWorkload is on."""

    def serve_plugins(self, annotations: AnnotationKeys, *, follows_pods: bool) -> None:
        """Out-of-tree plugins read this cluster: keep what only they read, and let them change nothing.

        `annotations` become part of pod templates. `follows_pods`: kept answers depend on metadata and status of the
        pods on a node. Called before pods are put.
        """
        add_wire_names()
        self.templates.serve_plugins(annotations)
        self.nodes.serve_plugins()
        self._follows_pods |= follows_pods

    def free_unused(self) -> None:
        """Free the entries of templates and classes of pods that are gone."""
        self.templates.sweep()
        self.selection.sweep()

    # Nodes
    def put_node(self, node: api.Node, source: Any = None) -> NodeInfo:
        known = node.metadata.name in self.nodes.slot_of
        info = self.nodes.put(node, source)
        if self.selection.size < self.nodes.capacity:
            self.selection.grow(self.nodes.capacity)
        if not known:
            for pod in self._homeless.pop(info.name, {}).values():
                self.shift_settled(pod, info, 1)
        return info

    def remove_node(self, name: str) -> None:
        info = self.nodes.get(name)
        if info is None:
            return
        stranded = dict(info.pods)
        for pod in stranded.values():
            self.shift_settled(pod, info, -1)
        if stranded:
            self._homeless[name] = stranded
        self.nodes.remove(name)

    # Pods
    def pod(self, source: api.Pod, whole: Any = None) -> Pod:
        """A pod on its interned template; it counts nowhere until it is added or assumed."""
        pod = self.templates.pod(source)
        if pod.template.footprint is None:
            keys = _label_keys_read(pod.template)
            if keys and self.reads_labels(keys):
                self.retemplate(pod)
            if pod.template.large:
                self.large_templates.use(pod.template)
        if self.keep_objects:
            pod.source = whole
        return pod

    def footprint(self, template: PodTemplate) -> Footprint:
        found: Footprint | None = template.footprint
        if found is None:
            base = None if template.large else template.base
            found = template.footprint = Footprint(self, template) if base is None else self.footprint(base)
        return found

    def add_pod(self, pod: Pod) -> None:
        """A pod is on a node: seen there, or confirmed there after it was assumed."""
        known = self.pods.get(pod.uid)
        if known is not None:
            if _counts_alike(known, pod):
                self._replace(pod)
                return
            self.remove_pod(known.uid)
        self.pods[pod.uid] = pod
        self._enter(pod)

    def remove_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self.assumed.discard(uid)
        homeless = self._homeless.get(pod.node_name)
        if homeless is not None and homeless.pop(uid, None) is not None:
            return
        info = self.nodes.get(pod.node_name)
        if info is not None:
            self.shift_settled(pod, info, -1)

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count a pod on the node chosen for it, before it is bound."""
        if pod.uid in self.pods:
            raise CacheError(f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        pod.node_name = node_name
        self.pods[pod.uid] = pod
        self.assumed.add(pod.uid)
        self._enter(pod)

    def forget(self, pod: Pod) -> None:
        """Take back an assumed pod; one that is not assumed is left alone."""
        if pod.uid in self.assumed:
            self.remove_pod(pod.uid)
            pod.node_name = ""
            if pod.template.spec.scheduling_group is not None:
                self.pod_groups.forget(pod)

    # Other kinds
    def put(self, item: ApiObject) -> None:
        self.stores.of(type(item)).put(item)
        self._note_change_of(type(item))
        self.reads_labels(_keys_selected_by(item))
        if isinstance(item, api.Namespace):
            self.selection.set_namespace(item.metadata.name, item.metadata.labels)

    def remove(self, item: ApiObject) -> None:
        self.stores.of(type(item)).remove(key_of(item.metadata))
        self._note_change_of(type(item))
        if isinstance(item, api.Namespace):
            self.selection.set_namespace(item.metadata.name, None)

    def _note_change_of(self, kind: type) -> None:
        """An object that filters and scores of default plugins read may have changed."""
        if kind not in _NOT_READ_BY_FILTERS:
            self.selection.rules_version += 1

    # Counts
    def counts_for(self, selector: PodSelector) -> SlotCounts:
        """Live counts of the pods that a selector matches, by slot."""
        self.reads_labels(frozenset().union(*(clause.selector.keys for clause in selector.clauses)))
        return self.selection.counts_for(selector)

    def reads_labels(self, keys: frozenset[str]) -> bool:
        """Labels with these keys are about to be selected by: where templates ignored them so far, they are made anew.

        Pods that wait elsewhere, and whose template may thus be out of date, are `retemplate`d by their keeper.
        """
        if not self.templates.reads(keys):
            return False
        for pod in [pod for pod in self.pods.values() if not keys.isdisjoint(pod.labels)]:
            info = self.nodes.get(pod.node_name)
            if info is None or pod.uid not in info.pods:
                self.retemplate(pod)
                continue
            order = dict(info.pods)
            self.shift_settled(pod, info, -1)
            self.retemplate(pod)
            self.shift_settled(pod, info, 1)
            info.residents.clear()
            info.residents.update(order)
        return True

    def retemplate(self, pod: Pod) -> None:
        """Intern the pod's template again, after the set of labels that split templates may have changed."""
        t = pod.template
        detach_details(pod)
        made = self.templates.template(t.namespace, dict(pod.labels), t.spec, t.controller, t.annotations)
        pod.template = self.templates.with_claims(made, t.spec.resource_claims, t.claim_statuses)

    @contextmanager
    def what_if(self) -> Iterator[Journal]:
        """A context in which pods are added and removed; everything is undone at its end."""
        mark = self.journal.mark()
        try:
            yield self.journal
        finally:
            self.journal.rollback(mark)

    def deltas(self, requests: Mapping[str, int], non_zero: tuple[int, int]) -> tuple[Deltas, Deltas]:
        """The columns that a pod adds to, with the amounts."""
        nodes = self.nodes
        amounts = [(nodes.resource(name)[1], amount) for name, amount in requests.items() if amount]
        scalars = [entry for entry in amounts if isinstance(entry[0], ScalarColumn)]
        if scalars:
            amounts = [entry for entry in amounts if not isinstance(entry[0], ScalarColumn)]
        amounts += [(nodes.pod_count, 1), (nodes.non_zero_cpu, non_zero[0]), (nodes.non_zero_memory, non_zero[1])]
        return [(column, amount) for column, amount in amounts if amount], scalars

    def _enter(self, pod: Pod) -> None:
        info = self.nodes.get(pod.node_name)
        if info is None:
            self._homeless.setdefault(pod.node_name, {})[pod.uid] = pod
        else:
            self.shift_settled(pod, info, 1)

    def _replace(self, pod: Pod) -> None:
        """Replace a pod by a version with equal counts. Only kept victims of preemption may be stale, and answers of
        out-of-tree plugins that read the metadata or status of pods on nodes."""
        uid = pod.uid
        self.assumed.discard(uid)
        known, self.pods[uid] = self.pods[uid], pod
        info = self.nodes.get(pod.node_name)
        if info is None:
            self._homeless[pod.node_name][uid] = pod
            return
        info.residents[uid] = pod
        if self._follows_pods or known.start_time != pod.start_time:
            self.nodes.log.append(info.slot)

    def shift_settled(self, pod: Pod, info: NodeInfo, sign: int) -> None:
        """Put a pod on a node (sign 1) or take it off (sign -1) for real. For the cache and its trials."""
        self.shift(pod, info, sign, what_if=False)
        slot, nodes = info.slot, self.nodes
        footprint: Footprint = pod.template.footprint
        footprint.on_nodes += sign
        if footprint.ports:
            self.ports.shift(footprint.ports, slot, sign)
        if footprint.claims:
            self.shift_claims(footprint.claims, sign)
        if not (nodes.pod_count.values[slot] + (sign < 0)) % PODS_PER_HANDICAP:
            nodes.update_handicap(slot)
        priority = pod.template.priority
        left = self.priorities.get(priority, 0) + sign
        if left:
            self.priorities[priority] = left
        else:
            del self.priorities[priority]
        nodes.log.append(slot)

    def shift_claims(self, claims: Iterable[str], sign: int) -> None:
        """A user of the claims came (sign 1) or left (sign -1)."""
        for claim in claims:
            users = self.claim_users.get(claim, 0) + sign
            if users:
                self.claim_users[claim] = users
            else:
                self.claim_users.pop(claim, None)

    def shift(self, pod: Pod, info: NodeInfo, sign: int, what_if: bool) -> None:
        """Change the columns and counts by one pod. For the cache and its journal, which handle host ports."""
        footprint: Footprint = pod.template.footprint or self.footprint(pod.template)
        slot = info.slot
        if pod.used is None:
            deltas, scalars = footprint.deltas, footprint.scalars
        else:
            deltas, scalars = self.deltas(*pod.used)
        if scalars:
            for column, amount in scalars:
                column.set(slot, column.values[slot] + sign * amount)
        for column, amount in deltas:
            values = column.values
            value = values[slot] + sign * amount
            values[slot] = value
            column.array[slot] = value
        self.selection.put(footprint.pod_class, slot, sign, pod.terminating, what_if)
        for counts in footprint.terms:
            counts.add(slot, sign)
        if sign > 0:
            info.residents[pod.uid] = pod
        else:
            info.residents.pop(pod.uid, None)


def _forget_derived(template: PodTemplate) -> None:
    """What is needed again is computed again. The counts of terms stay as long as such a pod is on a node."""
    template.derived.clear()
    footprint: Footprint | None = template.footprint
    if footprint is not None and not footprint.on_nodes:
        template.footprint = None


def _counts_alike(old: Pod, new: Pod) -> bool:
    """Whether two versions of a pod on a node add the same to every column and count."""
    return (
        old.template is new.template
        and old.node_name == new.node_name
        and old.terminating == new.terminating
        and old.used == new.used
    )


def _label_keys_read(template: PodTemplate) -> frozenset[str]:
    """Keys of the pod labels that the template's own terms and constraints select by."""
    spec = template.spec
    keys: frozenset[str] = frozenset()
    if spec.affinity is not None and (spec.affinity.pod_affinity or spec.affinity.pod_anti_affinity):
        keys = keys.union(*(kind.term.selector.keys for kind in carried_terms(template)))
    for constraint in spec.topology_spread_constraints:
        keys = keys.union(constraint.match_label_keys, _selected_keys(constraint.label_selector))
    return keys


def _selected_keys(selector: api.LabelSelector | None) -> frozenset[str]:
    if selector is None:
        return frozenset()
    return frozenset(selector.match_labels).union(e.key for e in selector.match_expressions)


def _keys_selected_by(item: ApiObject) -> frozenset[str]:
    """Label keys by which an object selects its pods, for the kinds that default spreading reads."""
    if isinstance(item, api.Service | api.ReplicationController):
        return frozenset(item.spec.selector or ())
    if isinstance(item, api.ReplicaSet | api.StatefulSet):
        return _selected_keys(item.spec.selector)
    return frozenset()
