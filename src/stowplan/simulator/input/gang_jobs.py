"""Jobs as gangs: the Workload and the PodGroup that the job controller makes with the feature gate WorkloadWithJob."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeVar

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.identity import generate_name, make_uid
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.ownership import Objects

_FROM_JOB = Origin("job controller")

T = TypeVar("T", api.Workload, api.PodGroup)


def with_gangs(objects: Objects, preexisting: Container[str]) -> Objects:
    """The objects with a Workload and a PodGroup for each Job whose pods run at the same time: Indexed, with as many
    completions as pods in parallel, more than one, and without a group of its own. Jobs of a cluster, by uid in
    `preexisting`, stay as they are."""
    found: Objects = []
    for item, origin in objects:
        if isinstance(item, api.Job) and item.metadata.uid not in preexisting and _is_gang(item.spec):
            workload, group = _gang_of(item)
            found += [(workload, _FROM_JOB), (group, _FROM_JOB), (_member_of(item, group.metadata.name), origin)]
        else:
            found.append((item, origin))
    return found


def _is_gang(spec: api.JobSpec) -> bool:
    parallelism = spec.parallelism or 1
    return (
        spec.completion_mode == "Indexed"
        and spec.completions == parallelism > 1
        and spec.template.spec.scheduling_group is None
    )


def _gang_of(job: api.Job) -> tuple[api.Workload, api.PodGroup]:
    name, namespace = job.metadata.name, job.metadata.namespace
    gang = api.GangSchedulingPolicy(min_count=job.spec.parallelism or 1)
    policy = api.PodGroupSchedulingPolicy(gang=gang)
    template = api.PodGroupTemplate(name=f"{name}-pgt-0", scheduling_policy=policy)
    owner = api.OwnerReference(api_version="batch/v1", kind="Job", name=name, uid=job.metadata.uid, controller=True)
    metadata = api.ObjectMeta(
        name=generate_name(f"{name}-", job.metadata.uid), namespace=namespace, owner_references=(owner,)
    )
    controller = api.TypedLocalObjectReference(api_group="batch", kind="Job", name=name)
    spec = api.WorkloadSpec(controller_ref=controller, pod_group_templates=(template,))
    workload = _with_uid(api.Workload(metadata=metadata, spec=spec))
    reference = api.WorkloadPodGroupTemplateReference(
        workload_name=workload.metadata.name, pod_group_template_name=template.name
    )
    base = f"{workload.metadata.name}-{template.name}-"
    made_from = api.PodGroupTemplateReference(workload=reference)
    return workload, _with_uid(
        api.PodGroup(
            metadata=replace(metadata, name=generate_name(base, job.metadata.uid)),
            spec=api.PodGroupSpec(pod_group_template_ref=made_from, scheduling_policy=policy),
        )
    )


def _member_of(job: api.Job, group: str) -> api.Job:
    template = job.spec.template
    spec = replace(template.spec, scheduling_group=api.PodSchedulingGroup(pod_group_name=group))
    return replace(job, spec=replace(job.spec, template=replace(template, spec=spec)))


def _with_uid(item: T) -> T:
    uid = make_uid(type(item).__name__, key_of(item.metadata), 0)
    return replace(item, metadata=replace(item.metadata, uid=uid))
