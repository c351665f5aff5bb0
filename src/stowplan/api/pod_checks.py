"""Checks of pods and pod templates.

Upstream: pkg/apis/core/validation/validation.go
"""

from stowplan.api import checks
from stowplan.api.affinity import Affinity, NodeAffinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, Toleration
from stowplan.api.affinity import TopologySpreadConstraint as Constraint
from stowplan.api.checks import Problems
from stowplan.api.names import subdomain_errors
from stowplan.api.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus
from stowplan.api.selectors import quoted
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

_PROTOCOLS = ("", "TCP", "UDP", "SCTP")
_EFFECTS = ("", NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_TOLERATION_OPERATORS = ("", "Equal", "Exists", "Gt", "Lt")
_PREEMPTION_POLICIES = (None, "", "PreemptLowerPriority", "Never")
_UNSATISFIABLE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION_POLICIES = ("Honor", "Ignore")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_problems(pod: Pod) -> Problems:
    """All problems of a pod, its metadata excepted."""
    yield from spec_problems(pod.spec)
    yield from _status(pod.status)


def spec_problems(spec: PodSpec) -> Problems:
    """All problems of the spec of a pod or template; paths begin with `spec`."""
    for i, container in enumerate(spec.containers):
        yield from _container(f".spec.containers[{i}]", container)
    for i, container in enumerate(spec.init_containers):
        yield from _container(f".spec.initContainers[{i}]", container)
    for i, toleration in enumerate(spec.tolerations):
        yield from _toleration(f".spec.tolerations[{i}]", toleration)
    if spec.affinity is not None:
        yield from _affinity(".spec.affinity", spec.affinity)
    for i, constraint in enumerate(spec.topology_spread_constraints):
        yield from _spread_constraint(f".spec.topologySpreadConstraints[{i}]", constraint)
    yield from _rare_parts(spec)


def _container(path: str, container: Container) -> Problems:
    if container.resources.requests:
        yield from checks.quantities(f"{path}.resources.requests", container.resources.requests)
    if container.resources.limits:
        yield from checks.quantities(f"{path}.resources.limits", container.resources.limits)
    for i, port in enumerate(container.ports):
        if not 0 <= port.host_port <= 65535:
            yield f"{path}.ports[{i}].hostPort", f"must be between 1 and 65535: {port.host_port}"
        if port.protocol not in _PROTOCOLS:
            yield from checks.one_of(f"{path}.ports[{i}].protocol", port.protocol, _PROTOCOLS[1:])


def _scheduling_group(path: str, name: str | None) -> Problems:
    if name is None:
        yield path, "must specify one of: `podGroupName`"
        return
    for problem in subdomain_errors(name):
        yield path, f"{problem}: {quoted(name)}"


def _rare_parts(spec: PodSpec) -> Problems:
    if spec.scheduling_group is not None:
        yield from _scheduling_group(".spec.schedulingGroup.podGroupName", spec.scheduling_group.pod_group_name)
    if spec.overhead:
        yield from checks.quantities(".spec.overhead", spec.overhead)
    if spec.resources is not None:
        yield from checks.quantities(".spec.resources.requests", spec.resources.requests)
        yield from checks.quantities(".spec.resources.limits", spec.resources.limits)
    if spec.preemption_policy not in _PREEMPTION_POLICIES:
        yield from checks.one_of(".spec.preemptionPolicy", spec.preemption_policy or "", _PREEMPTION_POLICIES[2:])
    for i, volume in enumerate(spec.volumes):
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            path = f".spec.volumes[{i}].ephemeral.volumeClaimTemplate.spec"
            yield from checks.claim_spec(path, volume.ephemeral.volume_claim_template.spec)


def _status(status: PodStatus) -> Problems:
    if status.resources is not None:
        yield from checks.quantities(".status.resources.requests", status.resources.requests)
    if status.allocated_resources:
        yield from checks.quantities(".status.allocatedResources", status.allocated_resources)
    for i, container in enumerate(status.container_statuses):
        yield from _container_status(f".status.containerStatuses[{i}]", container)
    for i, container in enumerate(status.init_container_statuses):
        yield from _container_status(f".status.initContainerStatuses[{i}]", container)


def _container_status(path: str, status: ContainerStatus) -> Problems:
    if status.resources is not None:
        yield from checks.quantities(f"{path}.resources.requests", status.resources.requests)
    if status.allocated_resources:
        yield from checks.quantities(f"{path}.allocatedResources", status.allocated_resources)


def _toleration(path: str, toleration: Toleration) -> Problems:
    if toleration.operator not in _TOLERATION_OPERATORS:
        yield from checks.one_of(f"{path}.operator", toleration.operator, _TOLERATION_OPERATORS[1:])
    elif not toleration.key and toleration.operator != "Exists":
        yield f"{path}.operator", "operator must be Exists when `key` is empty"
    if toleration.effect not in _EFFECTS:
        yield from checks.one_of(f"{path}.effect", toleration.effect, _EFFECTS[1:])


def _affinity(path: str, affinity: Affinity) -> Problems:
    if affinity.node_affinity is not None:
        yield from _node_affinity(f"{path}.nodeAffinity", affinity.node_affinity)
    if affinity.pod_affinity is not None:
        yield from _pod_affinity(f"{path}.podAffinity", affinity.pod_affinity)
    if affinity.pod_anti_affinity is not None:
        yield from _pod_affinity(f"{path}.podAntiAffinity", affinity.pod_anti_affinity)


def _node_affinity(path: str, affinity: NodeAffinity) -> Problems:
    yield from checks.node_selector(f"{path}.{_REQUIRED}", affinity.required_during_scheduling_ignored_during_execution)
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _weight(at, preferred.weight)
        yield from checks.node_selector_term(f"{at}.preference", preferred.preference)


def _pod_affinity(path: str, affinity: PodAffinity | PodAntiAffinity) -> Problems:
    for i, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        yield from _pod_affinity_term(f"{path}.{_REQUIRED}[{i}]", term)
    for i, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _weight(at, weighted.weight)
        yield from _pod_affinity_term(f"{at}.podAffinityTerm", weighted.pod_affinity_term)


def _pod_affinity_term(path: str, term: PodAffinityTerm) -> Problems:
    if not term.topology_key:
        yield f"{path}.topologyKey", "must not be empty"
    yield from checks.label_selector(f"{path}.labelSelector", term.label_selector)
    yield from checks.label_selector(f"{path}.namespaceSelector", term.namespace_selector)


def _weight(path: str, weight: int) -> Problems:
    if not 1 <= weight <= 100:
        yield f"{path}.weight", f"must be in the range 1-100: {weight}"


def _spread_constraint(path: str, constraint: Constraint) -> Problems:
    if constraint.max_skew < 1:
        yield f"{path}.maxSkew", f"must be greater than zero: {constraint.max_skew}"
    if not constraint.topology_key:
        yield f"{path}.topologyKey", "must not be empty"
    if constraint.min_domains is not None and constraint.min_domains < 1:
        yield f"{path}.minDomains", f"must be greater than zero: {constraint.min_domains}"
    yield from checks.one_of(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _UNSATISFIABLE_ACTIONS)
    if constraint.node_affinity_policy is not None:
        yield from checks.one_of(f"{path}.nodeAffinityPolicy", constraint.node_affinity_policy, _INCLUSION_POLICIES)
    if constraint.node_taints_policy is not None:
        yield from checks.one_of(f"{path}.nodeTaintsPolicy", constraint.node_taints_policy, _INCLUSION_POLICIES)
    yield from checks.label_selector(f"{path}.labelSelector", constraint.label_selector)
