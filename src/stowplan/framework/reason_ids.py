"""The stable ids of reasons in explanations, with their meaning. An id is never renamed; the reference lists them."""

from __future__ import annotations

from typing import NamedTuple


class ReasonMeaning(NamedTuple):
    """Which plugin gives the reason, and what it means."""

    plugin: str
    """Empty: no plugin, or any."""
    text: str


REASON_IDS: dict[str, ReasonMeaning] = {
    "affinity.enforced": ReasonMeaning("NodeAffinity", "The node does not match the configuration's addedAffinity."),
    "affinity.names": ReasonMeaning("NodeAffinity", "The pod's terms name nodes, and no node is in all of them."),
    "affinity.node": ReasonMeaning("NodeAffinity", "The node does not match the pod's selector or required affinity."),
    "anti-affinity.others": ReasonMeaning(
        "InterPodAffinity", "The anti-affinity of a pod in the domain excludes the pod."
    ),
    "anti-affinity.own": ReasonMeaning(
        "InterPodAffinity", "The pod's anti-affinity excludes a domain with matching pods."
    ),
    "claim.deleting": ReasonMeaning("VolumeBinding", "A PersistentVolumeClaim of the pod is being deleted."),
    "claim.device-allocating": ReasonMeaning("DynamicResources", "Devices are being allocated to a ResourceClaim."),
    "claim.device-deleting": ReasonMeaning("DynamicResources", "A ResourceClaim of the pod is being deleted."),
    "claim.device-missing": ReasonMeaning("DynamicResources", "A ResourceClaim of the pod does not exist."),
    "claim.device-not-owned": ReasonMeaning("DynamicResources", "A ResourceClaim was made for another pod."),
    "claim.exclusive": ReasonMeaning("VolumeRestrictions", "A ReadWriteOncePod claim is used by another pod."),
    "claim.lost": ReasonMeaning("VolumeBinding", "The volume of a PersistentVolumeClaim is gone."),
    "claim.missing": ReasonMeaning("VolumeBinding", "A PersistentVolumeClaim of the pod does not exist."),
    "claim.not-owned": ReasonMeaning("VolumeBinding", "The claim of an ephemeral volume was not made for the pod."),
    "claim.unbound": ReasonMeaning("VolumeBinding", "A claim that is bound at once is not bound."),
    "class.device-missing": ReasonMeaning("DynamicResources", "A DeviceClass does not exist."),
    "devices.elsewhere": ReasonMeaning("DynamicResources", "The claim's devices are allocated on another node."),
    "devices.error": ReasonMeaning("DynamicResources", "The search for devices failed."),
    "devices.failed": ReasonMeaning("DynamicResources", "Devices could not be allocated on the node."),
    "devices.no-match": ReasonMeaning("DynamicResources", "No device of the node matches the selectors."),
    "devices.none": ReasonMeaning("DynamicResources", "The node offers no device of the class."),
    "devices.stale": ReasonMeaning("DynamicResources", "The claim is allocated to devices that do not exist any more."),
    "devices.tainted": ReasonMeaning("DynamicResources", "The matching devices have taints that are not tolerated."),
    "devices.taken": ReasonMeaning("DynamicResources", "Other pods hold the matching devices."),
    "devices.timeout": ReasonMeaning("DynamicResources", "The search for devices took too long."),
    "devices.together": ReasonMeaning("DynamicResources", "Each request alone can be met, all together cannot."),
    "disk.in-use": ReasonMeaning("VolumeRestrictions", "A pod of the node uses the disk in a conflicting mode."),
    "error": ReasonMeaning("", "The last attempt ended with an error; the sentence has it."),
    "explanation.failed": ReasonMeaning("", "The plugin's `explain` raised an exception; the text has it."),
    "extender.failed": ReasonMeaning("Extender", "An extender that is not ignorable failed in the last attempt."),
    "extender.refused": ReasonMeaning("Extender", "Extenders refused the nodes that the filters left."),
    "features.missing": ReasonMeaning("NodeDeclaredFeatures", "The kubelet lacks a feature that the pod needs."),
    "gate": ReasonMeaning("", "PreEnqueue of the plugin keeps the pod out of the active queue."),
    "gpu-share": ReasonMeaning("FractionalGPU", "The GPUs of the node have too little left for the pod's share."),
    "no-nodes": ReasonMeaning("", "The cluster has no nodes."),
    "node.cordoned": ReasonMeaning("NodeUnschedulable", "The node is cordoned."),
    "node.name": ReasonMeaning("NodeName", "The pod names another node in spec.nodeName."),
    "not-explained": ReasonMeaning("", "One of many templates in a list of pending pods; the sentence is the message."),
    "numa.misaligned": ReasonMeaning("NodeResourceTopologyMatch", "No NUMA zone of the node has all that is needed."),
    "numa.stale": ReasonMeaning("NodeResourceTopologyMatch", "The report of the node does not include all its pods."),
    "other-scheduler": ReasonMeaning("", "The pod is of a scheduler that the configuration has no profile for."),
    "permit": ReasonMeaning("", "The pod has a node and waits at Permit of the plugin."),
    "plugin": ReasonMeaning("", "A plugin without an explanation of its own rejects the node; the text is its reason."),
    "pod-affinity.malformed": ReasonMeaning("InterPodAffinity", "A term of the pod's affinity cannot be parsed."),
    "pod-affinity.unmet": ReasonMeaning("InterPodAffinity", "The domain has no pod that the affinity selects."),
    "pod-group": ReasonMeaning("GangScheduling", "The pod group of the pod does not fit as a whole."),
    "pods.too-many": ReasonMeaning("NodeResourcesFit", "The node runs as many pods as it allows."),
    "ports.taken": ReasonMeaning("NodePorts", "A pod of the node uses the host port."),
    "preempting": ReasonMeaning("DefaultPreemption", "Pods are being evicted for the pod."),
    "quota.exceeded": ReasonMeaning("CapacityScheduling", "ElasticQuotas do not allow the pod's namespace more."),
    "resources.insufficient": ReasonMeaning("NodeResourcesFit", "Too little of a resource is free on the node."),
    "resources.too-small": ReasonMeaning("NodeResourcesFit", "The request exceeds what the node can allocate at all."),
    "spread.no-label": ReasonMeaning("PodTopologySpread", "The node lacks the label that a constraint spreads over."),
    "spread.skew": ReasonMeaning("PodTopologySpread", "The domain would exceed the emptiest by more than maxSkew."),
    "taint.lifecycle": ReasonMeaning("TaintToleration", "A taint of the node's state: not ready, under pressure."),
    "taint.untolerated": ReasonMeaning("TaintToleration", "The node has a taint that the pod does not tolerate."),
    "too-large": ReasonMeaning("", "The spec is too large to be explained by a running scheduler."),
    "volume.limit": ReasonMeaning("NodeVolumeLimits", "The node has no attachments left for the driver."),
    "volume.location": ReasonMeaning("VolumeBinding, VolumeZone", "A volume cannot be reached from the node."),
    "volume.no-capacity": ReasonMeaning("VolumeBinding", "The storage class has too little capacity for the node."),
    "volume.none": ReasonMeaning("VolumeBinding", "No free volume fits the claim on the node."),
    "volume.selected-node": ReasonMeaning("VolumeBinding", "The claim's volume is being provisioned for another node."),
    "volume.topology": ReasonMeaning("VolumeBinding", "The storage class does not allow the node's topology."),
}
"""All ids. `Explanation.because.id`, `Reason.id`, `Refusal.id`, `Rule.id`, `PendingGroup.because`."""
