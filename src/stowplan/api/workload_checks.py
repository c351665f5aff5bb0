"""Checks of workloads and their pod templates.

Upstream: pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/validation.go
"""

from collections.abc import Callable
from typing import Any

from stowplan.api import checks
from stowplan.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from stowplan.api.batch import CronJob, Job, JobSpec
from stowplan.api.checks import Problems, below
from stowplan.api.core import ReplicationController
from stowplan.api.pod_checks import spec_problems

_MANAGEMENT_POLICIES = ("", "OrderedReady", "Parallel")
_COMPLETION_MODES = (None, "NonIndexed", "Indexed")


def _replicated(item: Deployment | ReplicaSet | StatefulSet) -> Problems:
    yield from checks.not_negative(".spec.replicas", item.spec.replicas)
    yield from checks.label_selector(".spec.selector", item.spec.selector)
    yield from below(".spec.template", spec_problems(item.spec.template.spec))


def _replication_controller(item: ReplicationController) -> Problems:
    yield from checks.not_negative(".spec.replicas", item.spec.replicas)
    if item.spec.template is not None:
        yield from below(".spec.template", spec_problems(item.spec.template.spec))


def _stateful_set(item: StatefulSet) -> Problems:
    yield from _replicated(item)
    yield from checks.one_of(".spec.podManagementPolicy", item.spec.pod_management_policy, _MANAGEMENT_POLICIES)
    if item.spec.ordinals is not None:
        yield from checks.not_negative(".spec.ordinals.start", item.spec.ordinals.start)
    for i, claim in enumerate(item.spec.volume_claim_templates):
        path = f".spec.volumeClaimTemplates[{i}]"
        yield from below(path, checks.metadata(claim.metadata))
        yield from checks.claim_spec(f"{path}.spec", claim.spec)


def _daemon_set(item: DaemonSet) -> Problems:
    yield from checks.label_selector(".spec.selector", item.spec.selector)
    yield from below(".spec.template", spec_problems(item.spec.template.spec))


def _job(item: Job) -> Problems:
    yield from below(".spec", _job_spec(item.spec))


def _cron_job(item: CronJob) -> Problems:
    yield from below(".spec.jobTemplate.spec", _job_spec(item.spec.job_template.spec))


def _job_spec(spec: JobSpec) -> Problems:
    yield from checks.not_negative(".parallelism", spec.parallelism)
    yield from checks.not_negative(".completions", spec.completions)
    if spec.completion_mode not in _COMPLETION_MODES:
        yield from checks.one_of(".completionMode", spec.completion_mode or "", _COMPLETION_MODES[1:])
    elif spec.completion_mode == "Indexed" and spec.completions is None:
        yield ".completions", "required when completion mode is Indexed"
    yield from checks.label_selector(".selector", spec.selector)
    yield from below(".template", spec_problems(spec.template.spec))


WORKLOAD_CHECKS: dict[str, Callable[[Any], Problems]] = {
    "Deployment": _replicated,
    "ReplicaSet": _replicated,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
}
"""The checks of workloads, by kind."""
