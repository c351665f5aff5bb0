"""Completion of Jobs: counts pods that ended, and removes a Job that is complete or has failed.

Upstream: pkg/controller/job/job_controller.go, pkg/controller/ttlafterfinished/ttlafterfinished_controller.go
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.kubelet import FAILED, SUCCEEDED, Kubelet, PodLife
from stowplan.simulator.workloads.jobs import INDEX_ANNOTATION, is_finished

DEFAULT_BACKOFF_LIMIT = 6


class JobCompletion:
    """Keeps the statuses of Jobs whose pods end."""

    def __init__(self, api_server: ApiServer, kubelet: Kubelet, ttl: float = 0.0) -> None:
        self.on_job_end: Callable[[api.Job, str], None] = lambda job, outcome: None
        """Called when a Job is complete or has failed."""
        self.backoff_limits: dict[str, int] = {}
        """By `namespace/name`, for Jobs whose manifest sets one."""
        self._api_server = api_server
        self._kubelet = kubelet
        self._ttl = ttl
        self._failures: dict[str, int] = {}

    def pod_ended(self, life: PodLife) -> None:
        """Count a pod that has ended by itself."""
        owner = controller_of(life.pod)
        if owner is None or owner.kind != "Job" or life.outcome not in (SUCCEEDED, FAILED):
            return
        job = self._api_server.get(api.Job, owner.name, life.pod.metadata.namespace)
        if job is None or job.metadata.uid != owner.uid or is_finished(job):
            return
        if life.outcome == SUCCEEDED:
            self._count_success(job, life.pod)
        else:
            self._count_failure(job, life)

    def _count_success(self, job: api.Job, pod: api.Pod) -> None:
        index = pod.metadata.annotations.get(INDEX_ANNOTATION, "")
        indexes = ",".join(filter(None, (job.status.completed_indexes, index)))
        status = replace(job.status, succeeded=job.status.succeeded + 1, completed_indexes=indexes)
        if status.succeeded >= _completions(job):
            self._end(replace(job, status=_with_condition(status, "Complete")), SUCCEEDED)
        else:
            self._api_server.put(replace(job, status=status))

    def _count_failure(self, job: api.Job, life: PodLife) -> None:
        """The pod is replaced, and its work starts over, until there were too many failures."""
        key = f"{job.metadata.namespace}/{job.metadata.name}"
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures > self.backoff_limits.get(key, DEFAULT_BACKOFF_LIMIT):
            self._end(replace(job, status=_with_condition(job.status, "Failed")), FAILED)
        else:
            self._kubelet.register(f"Job/{key}", [life.work._replace(done=0.0, fails_after=None)])

    def _end(self, job: api.Job, outcome: str) -> None:
        key = f"{job.metadata.namespace}/{job.metadata.name}"
        self._failures.pop(key, None)
        self.backoff_limits.pop(key, None)
        self._kubelet.forget(f"Job/{key}")
        stored = self._api_server.put(job)
        self._api_server.at(
            to_microseconds(self._api_server.clock() + self._ttl), partial(self._api_server.finish, stored)
        )
        self.on_job_end(stored, outcome)


def _completions(job: api.Job) -> int:
    """Successes that make the Job complete; with parallelism alone, one of them does."""
    return 1 if job.spec.completions is None else job.spec.completions


def _with_condition(status: api.JobStatus, kind: str) -> api.JobStatus:
    return replace(status, conditions=(*status.conditions, api.Condition(type=kind, status="True")))
