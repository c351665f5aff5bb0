"""How many more replicas fit: pods that are created one after the other until one is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.requests import scheduling_requests
from stowplan.cache.volumes import ZONE
from stowplan.errors import InputError
from stowplan.framework import Explanation
from stowplan.simulator.pod_status import PENDING
from stowplan.simulator.what_if.reasons import explanation_of, why_of
from stowplan.simulator.what_if.records import Fit, FitDomain
from stowplan.simulator.what_if.references import describe, find_object, pods_of
from stowplan.simulator.what_if.run import ClusterRun
from stowplan.simulator.workloads import find_template

_MAX_NODES_LISTED = 10
_RELATIONS = {"PodTopologySpread": "spread constraint", "InterPodAffinity": "pod affinity"}
"""Plugins whose rules are relations to other pods, with a name for the rule."""
_SPREAD_REASON = "node(s) didn't match pod topology spread constraints"
_LACK = "Insufficient "


class _Filled(NamedTuple):
    """The replicas that were placed."""

    nodes: Counter[str]
    """By node."""
    refused: str
    """The pod that was refused; empty if the limit was reached."""
    reasons: Mapping[str, list[str]]
    """Nodes by the reason for which they refused it."""
    explanation: Explanation | None
    zones: dict[str, str]
    """The zone of each node."""


def fit(run: ClusterRun, what: Any, namespace: str, limit: int) -> Fit:
    """Create replicas on a copy of the cluster, without preemption. If the last one is refused by a relation to other
    pods, count again without that rule."""
    item = find_object(run.api_server, what, namespace) if isinstance(what, str) else what
    model = _model(run, item, namespace)
    filled = _fill(run.copy(), model, limit)
    number = filled.nodes.total()
    busiest = min(filled.nodes, key=lambda node: (-filled.nodes[node], node), default="")
    rule = _relation(filled.explanation)
    domains = tuple(_domains(filled))
    return Fit(
        workload=describe(item),
        replicas=number,
        complete=bool(filled.refused),
        requests=dict(scheduling_requests(model.spec)[0]),
        domains=domains,
        domain_key="zone" if any(filled.zones.values()) else "node",
        why=None if filled.explanation is None else why_of(filled.explanation),
        without=_RELATIONS.get(rule, ""),
        replicas_without=_fill(run.copy(), _without(model, rule), limit).nodes.total() if rule else 0,
        busiest=busiest,
        busiest_replicas=filled.nodes[busiest] if busiest else 0,
    )


def _model(run: ClusterRun, item: Any, namespace: str) -> api.Pod:
    """A pod of the workload, or the pod itself, as it would be created now."""
    if isinstance(item, api.DaemonSet):
        raise InputError(
            f"{describe(item)}: a pod or a workload with replicas is expected; a DaemonSet has a pod per node"
        )
    existing = [item] if isinstance(item, api.Pod) else pods_of(run.api_server, item) if item.metadata.uid else []
    if existing:
        pod = existing[0]
    else:
        found = find_template(item)
        if found is None:
            raise InputError(f"{describe(item)}: a pod or a workload with replicas is expected")
        template = found.template
        metadata = replace(template.metadata, name=item.metadata.name)
        pod = api.Pod(metadata=metadata, spec=template.spec)
    space = item.metadata.namespace or namespace
    admission = run.simulation.controllers.admission
    spec = admission.admit_spec(replace(pod.spec, node_name="", preemption_policy="Never"), "$.spec", space)
    claims = {each.metadata.name for each in getattr(getattr(item, "spec", None), "volume_claim_templates", ())}
    spec = replace(spec, volumes=tuple(volume for volume in spec.volumes if volume.name not in claims))
    metadata = api.ObjectMeta(
        name=f"{item.metadata.name}-fit",
        namespace=space,
        labels=pod.metadata.labels,
        annotations=pod.metadata.annotations,
        owner_references=pod.metadata.owner_references,
    )
    return api.Pod(metadata=metadata, spec=spec, status=PENDING)


def _fill(run: ClusterRun, model: api.Pod, limit: int) -> _Filled:
    simulation, nodes = run.simulation, run.simulation.engine.cluster.nodes
    namespace = model.metadata.namespace
    placed: Counter[str] = Counter()
    zones = {info.name: info.labels.get(ZONE, "") for info in nodes}
    for number in range(limit):
        name = f"{model.metadata.name}-{number}"
        stored = run.api_server.put(replace(model, metadata=replace(model.metadata, name=name)))
        simulation.settle()
        while simulation.step():
            pass
        node_name = _node_of(run, name, namespace)
        if not node_name:
            simulation.run()
            node_name = _node_of(run, name, namespace)
        if not node_name:
            last = run.recorder.last_attempts.get(stored.metadata.uid)
            reasons = {} if last is None or last.diagnosis is None else last.diagnosis.nodes_by_reason(nodes)
            key = f"{namespace}/{name}"
            return _Filled(placed, key, reasons, explanation_of(run, key), zones)
        placed[node_name] += 1
    return _Filled(placed, "", {}, None, zones)


def _node_of(run: ClusterRun, name: str, namespace: str) -> str:
    found = run.api_server.get(api.Pod, name, namespace)
    return "" if found is None else found.spec.node_name


def _relation(explanation: Explanation | None) -> str:
    """The plugin of the relation to other pods that refused the last replica, directly or by leaving few nodes."""
    because = None if explanation is None else explanation.because
    while because is not None:
        if because.plugin in _RELATIONS:
            return because.plugin
        because = because.forced_by
    return ""


def _without(model: api.Pod, plugin: str) -> api.Pod:
    """The pod without the rule of a plugin."""
    spec = model.spec
    if plugin == "PodTopologySpread":
        return replace(model, spec=replace(spec, topology_spread_constraints=()))
    assert spec.affinity is not None
    affinity = replace(spec.affinity, pod_affinity=None, pod_anti_affinity=None)
    return replace(model, spec=replace(spec, affinity=affinity))


def _domains(filled: _Filled) -> Iterator[FitDomain]:
    """The replicas by zone; by node, the fullest first, in a cluster without zones."""
    reasons: dict[str, Counter[str]] = {}
    zoned = any(filled.zones.values())
    for reason, names in filled.reasons.items():
        for name in names:
            reasons.setdefault(filled.zones.get(name, "") if zoned else name, Counter())[reason] += 1
    if zoned:
        for zone in sorted(set(filled.zones.values()) - {""}):
            nodes = {name: count for name, count in filled.nodes.items() if filled.zones[name] == zone}
            then = _words(reasons.get(zone))
            yield FitDomain(domain=zone, nodes=len(nodes), replicas=sum(nodes.values()), then=then)
        return
    order = sorted(filled.nodes, key=lambda name: (-filled.nodes[name], name))
    for name in order[:_MAX_NODES_LISTED]:
        yield FitDomain(domain=name, nodes=1, replicas=filled.nodes[name], then=_words(reasons.get(name)))


def _words(reasons: Counter[str] | None) -> str:
    """Why a domain takes no more replicas: the most frequent reason of its nodes."""
    if not reasons:
        return ""
    main = min(reasons, key=lambda reason: (-reasons[reason], reason))
    if main.startswith(_LACK):
        return main.removeprefix(_LACK)
    return "may take no more: zones even" if main == _SPREAD_REASON else main
