"""Controllers of Jobs, and of CronJobs, which create one Job. Pods end only where a kubelet runs them.

Upstream: pkg/controller/job/job_controller.go, pkg/controller/cronjob/cronjob_controllerv2.go
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.pod_factory import PodFactory, owned_by
from stowplan.simulator.workloads.workload_controller import WorkloadController

_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
_SECONDS_PER_MINUTE = 60


class JobController(WorkloadController):
    """Creates the pods of a Job that run at the same time, each with an index in completionMode Indexed."""

    kind = api.Job
    replicas_path = "$.spec.parallelism"

    @classmethod
    def desired_pods(cls, owner: api.Job) -> int:
        return pods_at_once(owner)

    def adapted(self, owner: api.Job, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        return replace(template, metadata=replace(template.metadata, labels=_labels(owner)))

    def lacking(self, owner: api.Job) -> Iterator[api.Pod]:
        missing = _wanted(owner, self._succeeded(owner)) - self.count_active(owner)
        if missing <= 0:
            return
        pods = self.pod_factory(owner, owner.spec.template)
        if not _is_indexed(owner):
            for _ in range(missing):
                yield pods.pod()
            return
        for index in self._free_indexes(owner):
            yield _indexed_pod(owner, pods, index)
            missing -= 1
            if not missing:
                break

    def _succeeded(self, owner: api.Job) -> int:
        here = sum(pod.status.phase == "Succeeded" for pod in self.inactive_pods_of(owner))
        return max(owner.status.succeeded, here)

    def _free_indexes(self, owner: api.Job) -> Iterator[int]:
        """Completion indexes without an active or succeeded pod, ascending."""
        taken = set(parse_indexes(owner.status.completed_indexes))
        for pod in self.pods_of(owner):
            if is_active(pod) or pod.status.phase == "Succeeded":
                text = pod.metadata.annotations.get(INDEX_ANNOTATION) or pod.metadata.labels.get(INDEX_ANNOTATION, "")
                taken.update(parse_indexes(text))
        return (index for index in range(owner.spec.completions or 0) if index not in taken)


class CronJobController(WorkloadController):
    """Creates one Job, unless the CronJob has one already or is suspended."""

    kind = api.CronJob
    replicas_path = "$.spec.jobTemplate.spec.parallelism"
    template_path = ".spec.jobTemplate.spec.template"

    @classmethod
    def desired_pods(cls, owner: api.CronJob) -> int:
        return pods_at_once(owner.spec.job_template)

    @classmethod
    def template_of(cls, owner: api.CronJob) -> api.PodTemplateSpec:
        return owner.spec.job_template.spec.template

    def lacking(self, owner: api.CronJob) -> Iterator[api.Job]:
        if owner.spec.suspend or self.api_server.dependents(owner.metadata.uid, api.Job):
            return
        template = owner.spec.job_template
        metadata = api.ObjectMeta(
            name=f"{owner.metadata.name}-{int(self.api_server.clock()) // _SECONDS_PER_MINUTE}",
            namespace=owner.metadata.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=owned_by(owner),
        )
        yield api.Job(metadata=metadata, spec=template.spec)


def parse_indexes(text: str) -> Iterator[int]:
    """The numbers of a list such as `1,3-5`; malformed parts are skipped."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            yield from range(int(first), int(last if last.isdecimal() else first) + 1)


def is_finished(job: api.Job) -> bool:
    """Whether a Job is complete or failed."""
    return any(each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions)


def pods_at_once(job: api.Job | api.JobTemplateSpec, succeeded: int = 0) -> int:
    """Number of pods of a Job that run at the same time."""
    spec = job.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None and spec.parallelism is not None:
        return 0 if succeeded else parallelism
    completions = 1 if spec.completions is None else spec.completions
    return max(0, min(parallelism, completions - succeeded))


def _wanted(job: api.Job, succeeded: int) -> int:
    return 0 if job.spec.suspend or is_finished(job) else pods_at_once(job, succeeded)


def _is_indexed(job: api.Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def _labels(job: api.Job) -> dict[str, str]:
    """The template's labels, and those of the Job's generated selector."""
    given = job.spec.template.metadata.labels
    if job.spec.manual_selector:
        return given
    return {
        **dict.fromkeys(_NAME_LABELS, job.metadata.name),
        **dict.fromkeys(_UID_LABELS, job.metadata.uid),
        **given,
    }


def _indexed_pod(job: api.Job, pods: PodFactory, index: int) -> api.Pod:
    mark = {INDEX_ANNOTATION: str(index)}
    return pods.pod(
        base=f"{job.metadata.name}-{index}-",
        labels={**pods.labels, **mark},
        annotations={**pods.annotations, **mark},
    )
