"""The group batch.

Upstream: k8s.io/api/batch/v1/types.go
"""

from stowplan.api.meta import Condition, Int32, LabelSelector, ObjectMeta, Wire
from stowplan.api.pod import PodTemplateSpec

__all__ = ["CronJob", "CronJobSpec", "Job", "JobSpec", "JobStatus", "JobTemplateSpec"]


class JobSpec(Wire, frozen=True, kw_only=True):
    """Parallelism, completions and the pod template of a job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Wire, frozen=True, kw_only=True):
    """The progress of a job."""

    conditions: tuple[Condition, ...] = ()
    succeeded: Int32 = 0
    completed_indexes: str = ""


class Job(Wire, frozen=True, kw_only=True):
    """A job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Wire, frozen=True, kw_only=True):
    """The template of a cron job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Wire, frozen=True, kw_only=True):
    """The template of a cron job; the schedule is not read."""

    suspend: bool | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(Wire, frozen=True, kw_only=True):
    """A cron job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
