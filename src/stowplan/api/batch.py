"""The group batch: pods that are meant to come to an end."""

from stowplan.api.meta import Condition, Int32, LabelSelector, ObjectMeta, Wire
from stowplan.api.pod import PodTemplateSpec

__all__ = ["CronJob", "CronJobSpec", "Job", "JobSpec", "JobStatus", "JobTemplateSpec"]


class JobSpec(Wire, frozen=True, kw_only=True):
    """How many pods of a job run at once, and how many have to succeed."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Wire, frozen=True, kw_only=True):
    """How far a job is."""

    conditions: tuple[Condition, ...] = ()
    succeeded: Int32 = 0
    completed_indexes: str = ""


class Job(Wire, frozen=True, kw_only=True):
    """A job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Wire, frozen=True, kw_only=True):
    """The job that a cron job makes copies of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Wire, frozen=True, kw_only=True):
    """What a cron job makes; when is of no interest here."""

    suspend: bool | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(Wire, frozen=True, kw_only=True):
    """A cron job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
