"""Cluster events in words: which changes of the cluster move a pod back to the active queue."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.api.selector_words import listed, selector_in_words
from stowplan.api.selectors import compile_label_selector
from stowplan.framework import ALL_EVENTS, Action, ClusterEvent, EventResource, Pod
from stowplan.framework.explanation import Wake

_NODE, _POD, _OWN = "a node", "a pod", "it"
_POD_RESOURCES = (EventResource.Pod, EventResource.AssignedPod)
_NODE_ACTIONS = {
    Action.Add: "joins",
    Action.UpdateNodeAllocatable: "grows",
    Action.UpdateNodeTaint: "loses a taint",
    Action.UpdateNodeLabel: "changes labels",
    Action.UpdateNodeCondition: "changes its conditions",
    Action.UpdateNodeAnnotation: "changes annotations",
    Action.UpdateNodeDeclaredFeature: "declares other features",
    Action.Delete: "goes",
}
_POD_ACTIONS = {
    Action.Add: "comes",
    Action.Delete: "leaves",
    Action.UpdatePodScaleDown: "shrinks",
    Action.UpdatePodLabel: "changes labels",
}
_OWN_ACTIONS = {
    Action.UpdatePodToleration: "is given a toleration",
    Action.UpdatePodSchedulingGatesEliminated: "loses its gates",
    Action.UpdatePodGeneratedResourceClaim: "gets its resource claims",
}
_OTHERS = {
    EventResource.PersistentVolumeClaim: "its claim changes",
    EventResource.PersistentVolume: "a volume comes or changes",
    EventResource.StorageClass: "a storage class comes or changes",
    EventResource.CSINode: "the CSI drivers of a node change",
    EventResource.CSIDriver: "a CSI driver comes or changes",
    EventResource.CSIStorageCapacity: "storage capacity changes",
    EventResource.VolumeAttachment: "a volume is detached",
    EventResource.ResourceClaim: "its resource claims change",
    EventResource.ResourceSlice: "devices change",
    EventResource.DeviceClass: "a device class comes or changes",
    EventResource.Wildcard: "anything changes",
}
_UNCORDONED = "is uncordoned"
"""Cordoning a node changes its taints, as far as the queue is concerned."""
_RESOURCES = "NodeResourcesFit"
_EVERYTHING = frozenset((each.event.resource, each.event.action) for each in ALL_EVENTS)
"""The default of plugins that register no events of their own."""
_SPREAD = "PodTopologySpread"
"""The plugin for which only pods with certain labels matter."""


class WakeWords:
    """The events of several plugins, merged by subject."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._clauses: dict[str, dict[str, None]] = {}
        """By subject: what happens to it."""
        self._sentences: dict[str, None] = {}
        self.wakes: dict[str, Wake] = {}

    def add(self, plugin: str, events: Iterable[ClusterEvent]) -> None:
        events = list(events)
        if {(event.resource, event.action) for event in events} >= _EVERYTHING:
            self._add_sentence(ClusterEvent(EventResource.Wildcard, Action.All), _OTHERS[EventResource.Wildcard])
            return
        for event in events:
            if event.resource == EventResource.Node:
                self._add_clauses(event, _NODE, _NODE_ACTIONS)
            elif plugin == _RESOURCES and event.resource == EventResource.DeviceClass and not _extended(self._pod):
                continue
            elif event.resource in (*_POD_RESOURCES, EventResource.UnschedulablePod):
                if event.resource in _POD_RESOURCES:
                    self._add_clauses(event, self._pods_of(plugin), _POD_ACTIONS)
                self._add_clauses(event, _OWN, _OWN_ACTIONS)
            else:
                self._add_sentence(event, _OTHERS.get(EventResource(event.resource)) if _known(event) else None)

    def text(self) -> str:
        """`a pod leaves or shrinks, or a node joins`; empty without events."""
        if _OTHERS[EventResource.Wildcard] in self._sentences:
            return _OTHERS[EventResource.Wildcard]
        order = sorted(self._clauses, key=lambda subject: (subject == _OWN, subject != _POD, subject))
        clauses = [f"{subject} {listed(self._clauses[subject], 'or')}" for subject in order]
        clauses += self._sentences
        return f"{', '.join(clauses[:-1])}, or {clauses[-1]}" if len(clauses) > 1 else "".join(clauses)

    def _pods_of(self, plugin: str) -> str:
        selectors = _selectors(self._pod) if plugin == _SPREAD and not self._pod.template.large else []
        return f"a pod with {listed(selectors, 'or')}" if selectors else _POD

    def _add_clauses(self, event: ClusterEvent, subject: str, words: dict[Action, str]) -> None:
        for action, text in words.items():
            if action & event.action:
                self._clauses.setdefault(subject, {})[text] = None
                if action == Action.UpdateNodeTaint:
                    self._clauses[subject][_UNCORDONED] = None
                label = ClusterEvent(event.resource, action).label
                self.wakes[label] = Wake(label, f"{subject} {text}")

    def _add_sentence(self, event: ClusterEvent, known: str | None) -> None:
        text = known or f"an object of {event.resource} comes or changes"
        self._sentences[text] = None
        self.wakes[event.label] = Wake(event.label, text)


def _known(event: ClusterEvent) -> bool:
    return event.resource in set(EventResource)


def _extended(pod: Pod) -> bool:
    """Whether the pod requests extended resources, which device classes can provide."""
    return any("/" in resource for resource in pod.template.requests)


def _selectors(pod: Pod) -> list[str]:
    """The label selectors of the pod's topology spread constraints, in words."""
    selectors = [each.label_selector for each in pod.spec.topology_spread_constraints]
    return list(dict.fromkeys(selector_in_words(compile_label_selector(each)) for each in selectors))
