"""Jobs, whose pods never end here, and cron jobs, which make one job."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.pod_factory import PodFactory, owned_by
from stowplan.simulator.workloads.workload_controller import WorkloadController

_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_INDEX = "batch.kubernetes.io/job-completion-index"
_SECONDS_PER_MINUTE = 60


class JobController(WorkloadController):
    """As many pods of a job as may run at once, with an index each where the job asks for that."""

    kind = api.Job

    def adapted(self, owner: api.Job, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        return replace(template, metadata=replace(template.metadata, labels=_labels(owner)))

    def lacking(self, owner: api.Job) -> Iterator[api.Pod]:
        missing = _wanted(owner, self._succeeded(owner)) - self.count_active(owner)
        if missing <= 0:
            return
        stamp = self.stamp(owner, owner.spec.template)
        if not _is_indexed(owner):
            for _ in range(missing):
                yield stamp.pod()
            return
        for index in self._free_indexes(owner):
            yield _indexed_pod(owner, stamp, index)
            missing -= 1
            if not missing:
                break

    def _succeeded(self, owner: api.Job) -> int:
        here = sum(pod.status.phase == "Succeeded" for pod in self.inactive_pods_of(owner))
        return max(owner.status.succeeded, here)

    def _free_indexes(self, owner: api.Job) -> Iterator[int]:
        """Indexes, from the first on, for which no pod runs or has succeeded."""
        taken = set(parse_indexes(owner.status.completed_indexes))
        for pod in self.pods_of(owner):
            if is_active(pod) or pod.status.phase == "Succeeded":
                text = pod.metadata.annotations.get(_INDEX) or pod.metadata.labels.get(_INDEX, "")
                taken.update(parse_indexes(text))
        return (index for index in range(owner.spec.completions or 0) if index not in taken)


class CronJobController(WorkloadController):
    """One job, unless there is one already or the cron job is suspended."""

    kind = api.CronJob

    def lacking(self, owner: api.CronJob) -> Iterator[api.Job]:
        if owner.spec.suspend or self.world.dependents(owner.metadata.uid, api.Job):
            return
        template = owner.spec.job_template
        metadata = api.ObjectMeta(
            name=f"{owner.metadata.name}-{int(self.world.clock()) // _SECONDS_PER_MINUTE}",
            namespace=owner.metadata.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=owned_by(owner),
        )
        yield api.Job(metadata=metadata, spec=template.spec)


def parse_indexes(text: str) -> Iterator[int]:
    """The numbers of a list such as `1,3-5`; what is no number is left out."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            yield from range(int(first), int(last if last.isdecimal() else first) + 1)


def is_finished(job: api.Job) -> bool:
    """Whether a job has come to its end, good or bad."""
    return any(each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions)


def pods_at_once(job: api.Job, succeeded: int = 0) -> int:
    """How many pods of a job run side by side."""
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
    """The template's labels, and those that tell the job's pods from all others."""
    given = job.spec.template.metadata.labels
    if job.spec.manual_selector:
        return given
    return {
        **dict.fromkeys(_NAME_LABELS, job.metadata.name),
        **dict.fromkeys(_UID_LABELS, job.metadata.uid),
        **given,
    }


def _indexed_pod(job: api.Job, stamp: PodFactory, index: int) -> api.Pod:
    mark = {_INDEX: str(index)}
    return stamp.pod(
        base=f"{job.metadata.name}-{index}-",
        labels={**stamp.labels, **mark},
        annotations={**stamp.annotations, **mark},
    )
