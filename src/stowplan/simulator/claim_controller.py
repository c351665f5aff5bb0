"""Controller of ResourceClaims: creates them from templates, and deallocates claims without consumers.

Upstream: pkg/controller/resourceclaim/controller.go
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.api_server import ApiServer, ObjectChange
from stowplan.simulator.identity import generate_name
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.pod_factory import owned_by

_POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


class ClaimController:
    """Creates and releases the ResourceClaims of pods."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server

    def on_pod(self, change: ObjectChange) -> None:
        pod: api.Pod = change.item
        if not pod.spec.resource_claims:
            return
        if change.removed:
            self._release(pod)
        elif is_active(pod):
            self._create_claims(pod)

    def on_template(self, change: ObjectChange) -> None:
        """Creates the claims of pods that waited for the template."""
        if not change.removed:
            for pod in [pod for pod in self._api_server.all(api.Pod) if pod.spec.resource_claims and is_active(pod)]:
                self._create_claims(pod)

    def on_group(self, change: ObjectChange) -> None:
        """Creates the claims of members that waited for their PodGroup."""
        group: api.PodGroup = change.item
        if not change.removed:
            for pod in self._members(group):
                self._create_claims(pod)

    def _create_claims(self, pod: api.Pod) -> None:
        if self._waits_for_group(pod):
            return
        made = {status.name for status in pod.status.resource_claim_statuses}
        new = []
        for entry in pod.spec.resource_claims:
            template = self._template_of(pod, entry)
            if entry.name not in made and template is not None:
                group = self._group_of(pod, entry)
                name = self._api_server.put(_claim(pod, entry, template)).metadata.name if group is None else ""
                if group is not None:
                    name = self._group_claim(group, entry, template)
                new.append(api.PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
        if new:
            statuses = (*pod.status.resource_claim_statuses, *new)
            self._api_server.put(replace(pod, status=replace(pod.status, resource_claim_statuses=statuses)))

    def _waits_for_group(self, pod: api.Pod) -> bool:
        """Whether the pod's PodGroup does not exist yet, which may have claims of the pod."""
        reference = pod.spec.scheduling_group
        if reference is None or not reference.pod_group_name:
            return False
        return self._api_server.get(api.PodGroup, reference.pod_group_name, pod.metadata.namespace) is None

    def _group_of(self, pod: api.Pod, entry: api.PodResourceClaim) -> api.PodGroup | None:
        """The pod's PodGroup if the claim is one of its claims."""
        reference = pod.spec.scheduling_group
        if reference is None or not reference.pod_group_name:
            return None
        group = self._api_server.get(api.PodGroup, reference.pod_group_name, pod.metadata.namespace)
        return group if group is not None and entry in group.spec.resource_claims else None

    def _group_claim(
        self, group: api.PodGroup, entry: api.PodResourceClaim, template: api.ResourceClaimTemplate
    ) -> str:
        """The name of the claim that all members share, which is created for the first of them."""
        latest = self._api_server.get(api.PodGroup, group.metadata.name, group.metadata.namespace) or group
        for status in latest.status.resource_claim_statuses:
            if status.name == entry.name and status.resource_claim_name:
                return status.resource_claim_name
        name: str = self._api_server.put(_claim(latest, entry, template)).metadata.name
        made = api.PodResourceClaimStatus(name=entry.name, resource_claim_name=name)
        statuses = (*latest.status.resource_claim_statuses, made)
        self._api_server.put(replace(latest, status=replace(latest.status, resource_claim_statuses=statuses)))
        return name

    def _members(self, group: api.PodGroup) -> list[api.Pod]:
        """The active pods of a PodGroup that have claims."""
        key = (group.metadata.namespace, group.metadata.name)
        return [
            pod
            for pod in self._api_server.all(api.Pod)
            if pod.spec.scheduling_group is not None
            and (pod.metadata.namespace, pod.spec.scheduling_group.pod_group_name) == key
            and pod.spec.resource_claims
            and is_active(pod)
        ]

    def _template_of(self, pod: api.Pod, entry: api.PodResourceClaim) -> api.ResourceClaimTemplate | None:
        name = entry.resource_claim_template_name
        return None if name is None else self._api_server.get(api.ResourceClaimTemplate, name, pod.metadata.namespace)

    def _release(self, pod: api.Pod) -> None:
        """Remove the pod from reservedFor, and its PodGroup after the last member; a claim without consumers is
        deallocated."""
        gone = {pod.metadata.uid}
        for entry in pod.spec.resource_claims:
            group = self._group_of(pod, entry)
            if group is not None and not self._members(group):
                gone.add(group.metadata.uid)
        for claim in list(self._claims_of(pod)):
            left = tuple(each for each in claim.status.reserved_for if each.uid not in gone)
            if left != claim.status.reserved_for:
                status = replace(claim.status, reserved_for=left) if left else api.ResourceClaimStatus()
                self._api_server.put(replace(claim, status=status))

    def _claims_of(self, pod: api.Pod) -> Iterator[api.ResourceClaim]:
        made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or made.get(entry.name)
            claim = self._api_server.get(api.ResourceClaim, name, pod.metadata.namespace) if name else None
            if claim is not None:
                yield claim


def _claim(
    owner: api.Pod | api.PodGroup, entry: api.PodResourceClaim, template: api.ResourceClaimTemplate
) -> api.ResourceClaim:
    base, pattern = f"{owner.metadata.name}-{entry.name}-", template.spec
    metadata = api.ObjectMeta(
        name=generate_name(base, owner.metadata.uid, entry.name),
        generate_name=base,
        namespace=owner.metadata.namespace,
        labels=pattern.metadata.labels,
        annotations={**pattern.metadata.annotations, _POD_CLAIM_NAME: entry.name},
        owner_references=owned_by(owner),
    )
    return api.ResourceClaim(metadata=metadata, spec=pattern.spec)
