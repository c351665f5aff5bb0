"""Changes of nodes: added, drained, failed, cordoned, tainted and labelled ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api import amounts, quantity
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE
from stowplan.cache.volumes import ZONE
from stowplan.errors import InputError
from stowplan.framework.decision_record import Record
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.references import find_node, find_nodes
from stowplan.simulator.what_if.run import ClusterRun, is_daemon, is_static

_HOSTNAME = "kubernetes.io/hostname"
_EFFECTS = (NO_SCHEDULE, "PreferNoSchedule", NO_EXECUTE)
_CONDITION_TAINTS = "node.kubernetes.io/"
_TOPOLOGY_LABELS = ("topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/")
"""A zone or region may have the name of a node."""
_MAX_LABELS_SHOWN = 1
_COMMON_LABELS = ("kubernetes.io/", "beta.kubernetes.io/", "node.kubernetes.io/", "topology.kubernetes.io/")


class AddNodes(Record, frozen=True, kw_only=True):
    """More nodes like one of the cluster, or like one of a manifest."""

    add: int
    like: str
    """The name of the node, or of the manifest's file."""
    node: api.Node | None = None
    """The node of the manifest."""

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        effects.asks_pending = True
        model = self.node or find_node(run.api_server, self.like)
        for name in add_nodes(run, model, self.add):
            effects.new_nodes.add(name)
        plural = "" if self.add == 1 else "s"
        name = model.metadata.name if self.node is not None else self.like
        return f"with {self.add:,} more node{plural} like {name} ({size_of(model)})"


class DrainNodes(Record, frozen=True):
    """Nodes that are cordoned, drained and removed."""

    drain: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        return _remove(run, effects, self.drain, budgets=True)


class FailNodes(Record, frozen=True):
    """Nodes that are gone with their pods."""

    fail: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        return _remove(run, effects, self.fail, budgets=False)


class CordonNodes(Record, frozen=True):
    """Nodes that take no more pods."""

    cordon: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        return f"with {_set_unschedulable(run, self.cordon, value=True)} cordoned"


class UncordonNodes(Record, frozen=True):
    """Nodes that take pods again."""

    uncordon: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        effects.asks_pending = True
        return f"with {_set_unschedulable(run, self.uncordon, value=False)} uncordoned"


class TaintNodes(Record, frozen=True):
    """A taint that is added to nodes, or removed from them (`key-`, `key:effect-`)."""

    taint: str
    """The node, or a label of nodes."""
    value: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        found = find_nodes(run.api_server, self.taint)
        if self.value.endswith("-"):
            effects.asks_pending = True
            key, _, effect = self.value.removesuffix("-").partition(":")
            if not any(_is_taint(taint, key, effect) for node in found.nodes for taint in node.spec.taints):
                raise InputError(f"{self.value}: {found.phrase} has no such taint")
            for node in found.nodes:
                left = tuple(taint for taint in node.spec.taints if not _is_taint(taint, key, effect))
                run.change(replace(node, spec=replace(node.spec, taints=left)))
            return f"without the taint {self.value.removesuffix('-')} on {found.phrase}"
        taint = _parse_taint(self.value)
        for node in found.nodes:
            others = [each for each in node.spec.taints if not _is_taint(each, taint.key, taint.effect)]
            run.change(replace(node, spec=replace(node.spec, taints=(*others, taint))))
            if taint.effect == NO_EXECUTE:
                _evict_intolerant(run, effects, node, taint)
        return f"with taint {self.value} on {found.phrase}"


class LabelNodes(Record, frozen=True):
    """A label that is set on nodes, or removed from them (`key-`)."""

    label: str
    """The node, or a label of nodes."""
    value: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        effects.asks_pending = True
        found = find_nodes(run.api_server, self.label)
        key, equals, value = self.value.partition("=")
        if not equals and not self.value.endswith("-"):
            raise InputError(f"{self.value}: KEY=VALUE or KEY- is expected")
        for node in found.nodes:
            labels = {name: text for name, text in node.metadata.labels.items() if name != key.removesuffix("-")}
            labels = {**labels, key: value} if equals else labels
            run.change(replace(node, metadata=replace(node.metadata, labels=labels)))
        if equals:
            return f"with label {self.value} on {found.phrase}"
        return f"without label {key.removesuffix('-')} on {found.phrase}"


def add_nodes(run: ClusterRun, model: api.Node, number: int) -> Iterator[str]:
    """Add nodes like a model and return their names. Their DaemonSets' pods come as for any new node."""
    api_server = run.api_server
    old = model.metadata.name
    taken = 0
    for _ in range(number):
        taken += 1
        while api_server.get(api.Node, f"{old}-{taken}") is not None:
            taken += 1
        name = f"{old}-{taken}"
        api_server.put(node_like(model, name))
        for item in _companions(api_server, old, name):
            api_server.put(item)
        yield name


def node_like(model: api.Node, name: str) -> api.Node:
    """A new node with the labels, taints and allocatable resources of a model, without images and conditions."""
    old = model.metadata.name
    labels = {
        key: name if value == old and not key.startswith(_TOPOLOGY_LABELS) else value
        for key, value in model.metadata.labels.items()
    }
    labels[_HOSTNAME] = name
    taints = tuple(taint for taint in model.spec.taints if not taint.key.startswith(_CONDITION_TAINTS))
    return replace(
        model,
        metadata=api.ObjectMeta(name=name, labels=labels, annotations=model.metadata.annotations),
        spec=replace(model.spec, taints=taints, unschedulable=False),
        status=replace(model.status, images=(), volumes_attached=()),
    )


def size_of(node: api.Node) -> str:
    """`16 CPU, 64Gi, pool=general, zone eu-west-1a`: the properties that distinguish the node."""
    allocatable = node.status.allocatable
    parts = []
    for resource, amount in allocatable.items():
        value = quantity.milli_value(amount) if resource == "cpu" else quantity.value(amount)
        if value and resource not in ("pods", "ephemeral-storage") and not resource.startswith("hugepages-"):
            parts.append((resource != "cpu", resource != "memory", amounts.in_words(resource, value)))
    words = [text for _, _, text in sorted(parts)]
    own = [(key, value) for key, value in sorted(node.metadata.labels.items()) if not key.startswith(_COMMON_LABELS)]
    words += [f"{key.rpartition('/')[2]}={value}" for key, value in own[:_MAX_LABELS_SHOWN]]
    zone = node.metadata.labels.get(ZONE)
    return ", ".join([*words, *([f"zone {zone}"] if zone else [])])


def _companions(api_server: ApiServer, old: str, name: str) -> Iterator[Any]:
    """What a new node brings besides itself: its CSINode, its devices, and pods of DaemonSets that are not known."""
    csi_node = api_server.get(api.CSINode, old)
    if csi_node is not None:
        yield replace(csi_node, metadata=api.ObjectMeta(name=name, annotations=csi_node.metadata.annotations))
    for piece in list(api_server.all(api.ResourceSlice)):
        if piece.spec.node_name == old:
            pool = replace(piece.spec.pool, name=piece.spec.pool.name.replace(old, name))
            metadata = api.ObjectMeta(name=f"{piece.metadata.name}-{name}")
            yield replace(piece, metadata=metadata, spec=replace(piece.spec, node_name=name, pool=pool))
    for pod in api_server.pods_on(old):
        owner = controller_of(pod)
        if owner is None or not is_daemon(pod) or is_static(pod):
            continue
        if owner.uid in api_server.assumed_owners or api_server.owner_of(pod) is None:
            metadata = replace(pod.metadata, name=f"{owner.name}-{name}", uid="", resource_version="")
            yield replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=name))


def _remove(run: ClusterRun, effects: Effects, text: str, *, budgets: bool) -> str:
    found = find_nodes(run.api_server, text)
    effects.displace(run, found.nodes, budgets=budgets)
    for node in found.nodes:
        run.api_server.delete(node)
    return f"without {found.phrase}"


def _set_unschedulable(run: ClusterRun, text: str, *, value: bool) -> str:
    found = find_nodes(run.api_server, text)
    for node in found.nodes:
        run.change(replace(node, spec=replace(node.spec, unschedulable=value)))
    return found.phrase


def _parse_taint(text: str) -> api.Taint:
    label, colon, effect = text.rpartition(":")
    key, _, value = label.partition("=")
    if not colon or not key or effect not in _EFFECTS:
        raise InputError(f"{text}: KEY[=VALUE]:EFFECT is expected, with effect {', '.join(_EFFECTS)}")
    return api.Taint(key=key, value=value, effect=effect)


def _is_taint(taint: api.Taint, key: str, effect: str) -> bool:
    return taint.key == key.partition("=")[0] and effect in ("", taint.effect)


def _evict_intolerant(run: ClusterRun, effects: Effects, node: api.Node, taint: api.Taint) -> None:
    """Pods that do not tolerate a NoExecute taint leave at once, whatever their tolerationSeconds."""
    leaving = [
        pod
        for pod in run.api_server.pods_on(node.metadata.name)
        if api.find_untolerated((taint,), pod.spec.tolerations, (NO_EXECUTE,)) is not None and not is_static(pod)
    ]
    effects.leave(run, leaving, budgets=False)
    for pod in leaving:
        run.api_server.delete(pod)
