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

    def _create_claims(self, pod: api.Pod) -> None:
        made = {status.name for status in pod.status.resource_claim_statuses}
        new = []
        for entry in pod.spec.resource_claims:
            template = self._template_of(pod, entry)
            if entry.name not in made and template is not None:
                claim = self._api_server.put(_claim(pod, entry, template))
                new.append(api.PodResourceClaimStatus(name=entry.name, resource_claim_name=claim.metadata.name))
        if new:
            statuses = (*pod.status.resource_claim_statuses, *new)
            self._api_server.put(replace(pod, status=replace(pod.status, resource_claim_statuses=statuses)))

    def _template_of(self, pod: api.Pod, entry: api.PodResourceClaim) -> api.ResourceClaimTemplate | None:
        name = entry.resource_claim_template_name
        return None if name is None else self._api_server.get(api.ResourceClaimTemplate, name, pod.metadata.namespace)

    def _release(self, pod: api.Pod) -> None:
        """Remove the pod from reservedFor; a claim without consumers is deallocated."""
        for claim in list(self._claims_of(pod)):
            left = tuple(each for each in claim.status.reserved_for if each.uid != pod.metadata.uid)
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


def _claim(pod: api.Pod, entry: api.PodResourceClaim, template: api.ResourceClaimTemplate) -> api.ResourceClaim:
    base, pattern = f"{pod.metadata.name}-{entry.name}-", template.spec
    metadata = api.ObjectMeta(
        name=generate_name(base, pod.metadata.uid, entry.name),
        generate_name=base,
        namespace=pod.metadata.namespace,
        labels=pattern.metadata.labels,
        annotations={**pattern.metadata.annotations, _POD_CLAIM_NAME: entry.name},
        owner_references=owned_by(pod),
    )
    return api.ResourceClaim(metadata=metadata, spec=pattern.spec)
