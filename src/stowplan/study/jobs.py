"""Jobs of a run: a Job with all its pods, or a pod without one."""

from __future__ import annotations

from stowplan.simulator.api_server import controller_of
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.kubelet import FAILED, SUCCEEDED, PodLife
from stowplan.study.pod_requests import REQUEST_COLUMNS, RequestBook
from stowplan.study.table import ResultTable

JOB_COLUMNS = (
    "job", "workload", "tenant", "priority", "pods", "submitted", "started", "ended", "work_s", "jct_s", "slowdown",
    "outcome",
)  # fmt: skip

_JOB = "Job"
_JobKey = tuple[bool, str, str]
"""True, empty and the name of a Job, or False with workload and name of a pod. The name of a pod that is created again
is free for pods of other workloads."""


class _OpenJob:
    """A job that has not ended."""

    __slots__ = ("ended", "failed", "life", "pods", "present", "started", "submitted", "work")

    def __init__(self, life: PodLife) -> None:
        self.life = life
        self.submitted = life.created
        self.started: float | None = None
        self.ended: float | None = None
        self.pods = 0
        self.present = 0
        self.work = 0.0
        self.failed = False


class JobBook:
    """Jobs by name; a row is written when the last pod of a job has ended."""

    def __init__(self, start: float, requests: RequestBook) -> None:
        self.table = ResultTable("jobs", JOB_COLUMNS)
        self.requests = ResultTable("job requests", REQUEST_COLUMNS)
        """In the order of `table`: the requests of a pod of the job."""
        self._requests = requests
        self._start = start
        self._open: dict[_JobKey, _OpenJob] = {}

    def pod_created(self, life: PodLife) -> None:
        key = _key(life)
        job = self._open.get(key)
        if job is None:
            job = self._open[key] = _OpenJob(life)
        job.pods += 1
        job.present += 1

    def pod_running(self, life: PodLife) -> None:
        job = self._open.get(_key(life))
        if job is not None and job.started is None:
            job.started = life.running

    def pod_ended(self, life: PodLife) -> None:
        key = _key(life)
        job = self._open[key]
        job.present -= 1
        if life.outcome == SUCCEEDED:
            job.ended = life.ended
            job.work = max(job.work, life.work.seconds or 0.0)
        elif life.outcome == FAILED:
            job.failed = True
            job.ended = life.ended
        owner = controller_of(life.pod)
        again = owner is None and life.work.resubmit and life.outcome not in (SUCCEEDED, FAILED)
        if not again and (owner is None or owner.kind != _JOB):
            self._write(key, life.outcome)

    def job_ended(self, name: str, outcome: str) -> None:
        """A Job is complete or has failed."""
        if (True, "", name) in self._open:
            self._write((True, "", name), outcome)

    def _write(self, key: _JobKey, outcome: str) -> None:
        job = self._open.pop(key)
        pod = job.life.pod
        self.requests.append(self._requests.of(pod).row)
        submitted, started = to_microseconds(job.submitted - self._start), job.started
        done = outcome == SUCCEEDED and job.ended is not None
        jct = to_microseconds(job.ended - job.submitted) if done and job.ended is not None else None
        self.table.append(
            (
                key[2], job.life.workload, job.life.tenant, pod.spec.priority or 0, job.pods,
                submitted, submitted if started == job.submitted else self._since_start(started),
                self._since_start(job.ended), to_microseconds(job.work), jct,
                None if jct is None or not job.work else round(jct / job.work, 6), outcome,
            )
        )  # fmt: skip

    def _since_start(self, time: float | None) -> float | None:
        return None if time is None else to_microseconds(time - self._start)

    def close(self) -> None:
        """Write the jobs that have not ended; pods without an end are `service`."""
        for key, job in list(self._open.items()):
            self._write(key, "service" if job.life.work.seconds is None else "unfinished")


def _key(life: PodLife) -> _JobKey:
    owner = controller_of(life.pod)
    if owner is not None and owner.kind == _JOB:
        return True, "", life.job
    return False, life.workload, life.job
