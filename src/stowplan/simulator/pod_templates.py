"""Where the pods of a workload are described."""

from __future__ import annotations

from typing import Any, NamedTuple

from stowplan import api


class Template(NamedTuple):
    """A pod template, and the path to it."""

    path: str
    template: api.PodTemplateSpec


def find_template(workload: Any) -> Template | None:
    """The template of a workload, None for a replication controller without one and for all else."""
    if isinstance(workload, api.CronJob):
        return Template(".spec.jobTemplate.spec.template", workload.spec.job_template.spec.template)
    template = getattr(getattr(workload, "spec", None), "template", None)
    return Template(".spec.template", template) if isinstance(template, api.PodTemplateSpec) else None


def pod_spec_of(item: Any) -> api.PodSpec | None:
    """The spec of a pod, or of the pods of a workload."""
    if isinstance(item, api.Pod):
        return item.spec
    found = find_template(item)
    return None if found is None else found.template.spec
