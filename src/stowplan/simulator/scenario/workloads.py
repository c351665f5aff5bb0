"""Workloads of a scenario: the objects of a manifest, created once or at each arrival, and the work of their pods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.config.errors import Problems
from stowplan.errors import InputError
from stowplan.simulator.input.documents import read_documents
from stowplan.simulator.input.manifests import SIMULATED
from stowplan.simulator.kubelet import TENANT, WORKLOAD, Restart
from stowplan.simulator.scenario.arrivals import ArrivalProcess, compile_arrivals
from stowplan.simulator.scenario.fields import check_object, required, time_at
from stowplan.simulator.scenario.object_names import arriving_name, with_marks
from stowplan.simulator.scenario.quantities import RandomQuantity, ScenarioQuantityError, quantity, weighted
from stowplan.simulator.scenario.replicas import ReplicaSchedule, compile_load, compile_replicas
from stowplan.simulator.scenario.schema import ChoiceSpec, ScenarioWorkloadSpec
from stowplan.simulator.workloads import CONTROLLERS, find_template

Json = dict[str, Any]
_TENANT_LABEL = "tenant"
_MAX_ZIPF = 100
_OF_TRACES = ("arrivals", "replicas", "load", "priority", "tenant")
"""Fields of other workloads that a trace determines."""
FINITE = (api.Pod, api.Job)
"""Kinds whose pods may end."""


class CompiledWorkload(NamedTuple):
    """A workload that was checked."""

    name: str
    path: str
    """Path of the workload in the streams of random numbers."""
    documents: tuple[Json, ...]
    """Raw objects that have pods."""
    companions: tuple[Any, ...]
    """Other objects of the manifest, created once."""
    arrivals: ArrivalProcess | None
    replicas: ReplicaSchedule | None
    duration: RandomQuantity | None
    startup: RandomQuantity
    restart: Restart
    resubmit: bool
    priority: RandomQuantity | None
    tenant: RandomQuantity | None
    gang: bool = False

    def instance(self, document: Json, number: int, at: float, priority: str, tenant: str) -> Any:
        """The object of the n-th arrival."""
        text = with_marks(msgspec.json.encode(document).decode(), number, at)
        found: Any = codec.decode(SIMULATED[document["kind"]].struct, text)
        name = found.metadata.name or self.name
        if self.arrivals is not None:
            name = arriving_name(document["metadata"].get("name", ""), self.name, number, at)
        return self._marked(replace(found, metadata=replace(found.metadata, name=name)), priority, tenant)

    def _marked(self, item: Any, priority: str, tenant: str) -> Any:
        """The object, its pod template with the annotations of the scenario, priority and tenant."""
        notes = {WORKLOAD: self.name, **({TENANT: tenant} if tenant else {})}
        item = replace(item, metadata=_annotated(item.metadata, notes, tenant))
        found = find_template(item)
        if isinstance(item, api.Pod):
            return replace(item, spec=_with_priority(item.spec, priority))
        if found is None:
            return item
        template = found.template
        marked = replace(
            template,
            metadata=_annotated(template.metadata, notes, tenant),
            spec=_with_priority(template.spec, priority),
        )
        return _with_template(item, marked)


def as_gang(job: api.Job, pods: int) -> tuple[api.PodGroup, api.Job]:
    """A PodGroup of all pods that a Job runs at once, and the Job with its pods in that group."""
    metadata = api.ObjectMeta(name=job.metadata.name, namespace=job.metadata.namespace)
    policy = api.PodGroupSchedulingPolicy(gang=api.GangSchedulingPolicy(min_count=pods))
    group = api.PodGroup(metadata=metadata, spec=api.PodGroupSpec(scheduling_policy=policy))
    template = job.spec.template
    member = replace(template.spec, scheduling_group=api.PodSchedulingGroup(pod_group_name=metadata.name))
    return group, _with_template(job, replace(template, spec=member))


def _with_template(item: Any, template: api.PodTemplateSpec) -> Any:
    if isinstance(item, api.CronJob):
        job = item.spec.job_template
        job = replace(job, spec=replace(job.spec, template=template))
        return replace(item, spec=replace(item.spec, job_template=job))
    return replace(item, spec=replace(item.spec, template=template))


def _annotated(metadata: api.ObjectMeta, notes: dict[str, str], tenant: str) -> api.ObjectMeta:
    labels = {**metadata.labels, _TENANT_LABEL: tenant} if tenant else metadata.labels
    return replace(metadata, annotations={**metadata.annotations, **notes}, labels=labels)


def _with_priority(spec: api.PodSpec, priority: str) -> api.PodSpec:
    return replace(spec, priority_class_name=priority, priority=None) if priority else spec


def compile_workload(
    spec: ScenarioWorkloadSpec, path: str, problems: Problems, folder: Path, read: Callable[[str], bytes]
) -> CompiledWorkload:
    """Check a workload; faults are added to `problems`."""
    if not spec.name:
        required(f"{path}.name", problems)
    objects = list(_objects(spec, path, problems, folder, read))
    documents = tuple(document for document, item in objects if isinstance(item, api.Pod) or type(item) in CONTROLLERS)
    companions = tuple(item for document, item in objects if document not in documents)
    kinds = {document["kind"] for document in documents}
    if objects and not documents:
        problems.add(f"{path}.manifest", "no object with pods")
    arrivals = None if spec.arrivals is None else compile_arrivals(spec.arrivals, f"{path}.arrivals", problems, folder)
    duration = None
    if spec.duration is not None:
        duration = quantity(spec.duration, f"{path}.duration", problems, folder=folder)
        if duration.is_constant and duration.mean < 0:
            problems.add(f"{path}.duration", "must be 0 or more")
        if documents and not kinds & {kind.__name__ for kind in FINITE}:
            problems.add(f"{path}.duration", f"pods of a {min(kinds)} do not end; a Pod or a Job is needed")
    if spec.gang and (arrivals is None or kinds != {"Job"}):
        problems.add(f"{path}.gang", "needs arrivals of Jobs")
    if arrivals is not None and arrivals.closed is not None and documents and duration is None:
        problems.add(f"{path}.arrivals.closed", "the workload needs a duration, or its pods never end")
    return CompiledWorkload(
        spec.name,
        f"workloads.{spec.name}",
        documents,
        companions,
        arrivals,
        _replicas(spec, path, problems, folder, kinds),
        duration,
        quantity(spec.startup, f"{path}.startup", problems, folder=folder),
        _restart(spec, path, problems),
        spec.resubmit,
        _names(spec.priority, f"{path}.priority", problems),
        _names(spec.tenant, f"{path}.tenant", problems),
        spec.gang,
    )


def _objects(
    spec: ScenarioWorkloadSpec, path: str, problems: Problems, folder: Path, read: Callable[[str], bytes]
) -> Iterator[tuple[Json, Any]]:
    if sum(map(bool, (spec.manifest, spec.template, spec.trace))) != 1:
        problems.add(path, "expected one of manifest, template and trace")
        return
    if spec.trace:
        for field in _OF_TRACES:
            if getattr(spec, field) is not None:
                problems.add(f"{path}.{field}", f"a trace has its own {field}")
        return
    found: list[tuple[str, Json]] = []
    if spec.template:
        found = [(f"{path}.template", spec.template)]
    else:
        try:
            documents = list(read_documents(str(folder / spec.manifest), read))
            found = [(f"{path}.manifest: {origin}", codec.whole(document)) for origin, document in documents]
        except InputError as error:
            problems.add(f"{path}.manifest", str(error))
    for where, document in found:
        kind = SIMULATED.get(str(document.get("kind", "")))
        if kind is None:
            problems.add(where, f"kind {document.get('kind', '')!r} is not simulated")
            continue
        try:
            text = with_marks(msgspec.json.encode(document).decode(), 1, 0.0)
            item = codec.decode(kind.struct, text)
            check_object(kind, document, item, where, problems)
            yield {"metadata": {}, **_without_nulls(document)}, item
        except InputError as error:
            problems.add(where + str(error).removeprefix("$").partition(": ")[0], str(error).partition(": ")[2])


def _without_nulls(value: Any) -> Any:
    """The value without fields that are null, which are absent for Kubernetes."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _replicas(
    spec: ScenarioWorkloadSpec, path: str, problems: Problems, folder: Path, kinds: set[str]
) -> ReplicaSchedule | None:
    if spec.replicas is None and spec.load is None:
        return None
    field = f"{path}.replicas" if spec.replicas is not None else f"{path}.load"
    if spec.replicas is not None and spec.load is not None:
        problems.add(f"{path}.load", "replicas and load exclude each other")
    if spec.arrivals is not None:
        problems.add(field, "arrivals exclude it")
    scalable = {kind.__name__ for kind, controller in CONTROLLERS.items() if controller.has_replicas}
    if kinds and not kinds & scalable:
        problems.add(field, f"a {min(kinds)} has no replicas")
    if spec.replicas is not None:
        return compile_replicas(spec.replicas, field, problems)
    assert spec.load is not None
    return compile_load(spec.load, field, problems, folder)


def _restart(spec: ScenarioWorkloadSpec, path: str, problems: Problems) -> Restart:
    given = spec.restart
    if given.checkpoint is not None and given.resume:
        problems.add(f"{path}.restart", "checkpoint and resume exclude each other")
    if given.checkpoint is None:
        return Restart(resume=given.resume)
    return Restart(time_at(given.checkpoint, f"{path}.restart.checkpoint", problems, positive=True))


def _names(spec: ChoiceSpec | None, path: str, problems: Problems) -> RandomQuantity | None:
    if spec is None:
        return None
    weights: dict[str, float] = dict(spec.choice)
    if spec.zipf is not None and not abs(spec.zipf.s) <= _MAX_ZIPF:
        problems.add(f"{path}.zipf.s", f"must be from -{_MAX_ZIPF} to {_MAX_ZIPF}")
        return None
    if spec.zipf is not None:
        weights = {name: (rank + 1) ** -spec.zipf.s for rank, name in enumerate(spec.zipf.names)}
    if bool(spec.choice) == (spec.zipf is not None) or not weights or math.fsum(weights.values()) <= 0:
        problems.add(path, "expected choice or zipf, with names and weights")
        return None
    try:
        return weighted(list(weights), weights)
    except ScenarioQuantityError as fault:
        problems.add(f"{path}.choice{fault.path}", fault.message)
        return None
