"""Controllers of ReplicaSets, ReplicationControllers and Deployments.

Upstream: pkg/controller/replicaset/replica_set.go, pkg/controller/deployment/deployment_controller.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.custom_workload import CustomWorkload
from stowplan.simulator.identity import template_hash
from stowplan.simulator.workloads.pod_factory import owned_by
from stowplan.simulator.workloads.workload_controller import WorkloadController, replicas_of

_HASH_LABEL = "pod-template-hash"


class ReplicaSetController(WorkloadController):
    """Creates the pods of a ReplicaSet."""

    kind: ClassVar[type[Any]] = api.ReplicaSet
    has_replicas = True

    def lacking(self, owner: api.ReplicaSet | api.ReplicationController | CustomWorkload) -> Iterator[api.Pod]:
        template = owner.spec.template
        if template is None:
            return
        missing = replicas_of(owner) - self.count_active(owner)
        if missing > 0:
            pods = self.pod_factory(owner, template)
            for _ in range(missing):
                yield pods.pod()


class ReplicationControllerController(ReplicaSetController):
    """Creates the pods of a ReplicationController."""

    kind = api.ReplicationController


class CustomWorkloadController(ReplicaSetController):
    """Creates the pods of a custom workload. Pods of its ReplicaSets count, as those of an Argo Rollout."""

    kind = CustomWorkload

    def count_active(self, owner: CustomWorkload) -> int:
        names = self.api_server.dependents(owner.metadata.uid, api.ReplicaSet)
        sets = (self.api_server.get(api.ReplicaSet, name, owner.metadata.namespace) for name in names)
        return super().count_active(owner) + sum(replicas_of(each) for each in sets if each is not None)


class DeploymentController(WorkloadController):
    """Creates or scales up the ReplicaSet of a Deployment's template.

    Replicas of old ReplicaSets count as well: a snapshot may have been taken during a rollout.
    """

    kind = api.Deployment
    has_replicas = rolls_out = True

    def lacking(self, owner: api.Deployment) -> Iterator[api.ReplicaSet]:
        present = list(self._replica_sets(owner))
        missing = replicas_of(owner) - sum(map(replicas_of, present))
        current = next((each for each in present if same_template(each, owner)), None)
        if current is not None and missing > 0:
            spec = replace(current.spec, replicas=replicas_of(current) + missing)
            yield replace(current, spec=spec)
        elif current is None and (missing > 0 or not present):
            yield new_replica_set(owner, max(missing, 0))

    def _replica_sets(self, owner: api.Deployment) -> Iterator[api.ReplicaSet]:
        for name in self.api_server.dependents(owner.metadata.uid, api.ReplicaSet):
            found = self.api_server.get(api.ReplicaSet, name, owner.metadata.namespace)
            if found is not None:
                yield found


def same_template(replica_set: api.ReplicaSet, deployment: api.Deployment) -> bool:
    template = replica_set.spec.template
    labels = {key: value for key, value in template.metadata.labels.items() if key != _HASH_LABEL}
    wanted = deployment.spec.template
    return template.spec == wanted.spec and labels == wanted.metadata.labels


def new_replica_set(owner: api.Deployment, replicas: int) -> api.ReplicaSet:
    template, selector = owner.spec.template, owner.spec.selector or api.LabelSelector()
    mark = {_HASH_LABEL: template_hash(template)}
    labels = {**template.metadata.labels, **mark}
    metadata = api.ObjectMeta(
        name=f"{owner.metadata.name}-{mark[_HASH_LABEL]}",
        namespace=owner.metadata.namespace,
        labels=labels,
        owner_references=owned_by(owner),
    )
    spec = api.ReplicaSetSpec(
        replicas=replicas,
        selector=replace(selector, match_labels={**selector.match_labels, **mark}),
        template=replace(template, metadata=replace(template.metadata, labels=labels)),
    )
    return api.ReplicaSet(metadata=metadata, spec=spec)
