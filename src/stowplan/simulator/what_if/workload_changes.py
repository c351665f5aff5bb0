"""Changes of workloads, pods and other objects: requests, replicas, deletion, manifests, and pods placed again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.api import amounts, quantity
from stowplan.cache.requests import scheduling_requests
from stowplan.errors import InputError
from stowplan.framework.decision_record import Record
from stowplan.simulator.input import InputOptions, Read, read_input
from stowplan.simulator.input.apply import LiveObjects
from stowplan.simulator.input.rollout import Dependents
from stowplan.simulator.load import populate
from stowplan.simulator.pod_status import PENDING
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.references import describe, find_object, find_workload, pods_of, workload_key
from stowplan.simulator.what_if.run import ClusterRun, is_static
from stowplan.simulator.workloads import CONTROLLERS, find_template
from stowplan.simulator.workloads.workload_controller import replicas_of


class SetRequests(Record, frozen=True):
    """Other requests of a workload's pods, which are all replaced, or of one pod."""

    set: str
    requests: dict[str, str]
    """Quantities by resource, or by `container:resource` in pods with several containers."""

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        item = find_object(run.api_server, self.set, effects.namespace)
        template = item if isinstance(item, api.Pod) else getattr(find_template(item), "template", None)
        if template is None:
            raise InputError(f"{self.set}: a pod or a workload is expected")
        spec = _with_requests(template.spec, self.requests)
        phrase = _compared(template.spec, spec, self.requests)
        if isinstance(item, api.Pod):
            effects.workloads[workload_key(run.api_server, item)] = None
            run.api_server.delete(item)
            run.simulation.settle()
            metadata = replace(item.metadata, uid="", resource_version="", deletion_timestamp=None)
            spec = replace(spec, node_name="")
            run.simulation.controllers.create_pod(replace(item, metadata=metadata, spec=spec, status=PENDING))
            return f"with {phrase}"
        effects.workloads[f"{item.metadata.namespace}/{describe(item)}"] = None
        _roll_out(run, item, _with_spec(item, spec))
        return f"with {phrase}"


class ScaleWorkload(Record, frozen=True):
    """Another number of replicas."""

    scale: str
    replicas: int

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        item = find_workload(run.api_server, self.scale, effects.namespace)
        key = f"{item.metadata.namespace}/{describe(item)}"
        effects.workloads[key] = None
        effects.scaled.add(key)
        field = "parallelism" if isinstance(item, api.Job) else "replicas"
        if not hasattr(item.spec, field):
            raise InputError(f"{self.scale}: has no replicas")
        old = getattr(item.spec, field)
        pods = pods_of(run.api_server, item)
        surplus = len(pods) - self.replicas
        if surplus > 0:
            _scale_down(run, item, pods, surplus)
        run.change(replace(item, spec=replace(item.spec, **{field: self.replicas})))
        for owned in _replica_sets(run, item):
            run.preexisting.discard(owned.metadata.uid)
        return f"with {self.replicas:,} replicas of {describe(item)} instead of {1 if old is None else old:,}"


class DeleteObject(Record, frozen=True):
    """An object that is deleted, with everything that it controls."""

    delete: str

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        effects.asks_pending = True
        item = find_object(run.api_server, self.delete, effects.namespace)
        if isinstance(item, api.Node):
            effects.displace(run, [item], budgets=False)
        run.api_server.delete(item)
        return f"without {describe(item)}"


class ApplyManifests(Record, frozen=True):
    """Manifests that are applied as `kubectl apply` does."""

    apply_: str = msgspec.field(name="apply")
    """The name of the file."""
    read: Read

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        api_server = run.api_server
        items = api_server.objects()
        schedulers = {item.spec.scheduler_name for item in items if isinstance(item, api.Pod)}
        live = LiveObjects(items, schedulers, effects.namespace)
        given = read_input([self.apply_], self.read, live, InputOptions(effects.namespace))
        kept = {item.metadata.uid for item, _ in given.objects}
        changed = [each for each in given.objects if each[0].metadata.uid not in given.preexisting]
        for item in items:
            if item.metadata.uid not in kept:
                run.preexisting.discard(item.metadata.uid)
        run.preexisting -= {item.metadata.uid for item, _ in changed}
        for item in items:
            if item.metadata.uid not in kept:
                api_server.finish(item)
        populate(
            api_server,
            run.simulation.controllers,
            changed,
            frozenset(run.preexisting),
            api_server.assumed_owners | given.assumed_owners,
        )
        run.simulation.controllers.keep(run.preexisting)
        for item, _ in changed:
            if type(item) in CONTROLLERS:
                effects.workloads[f"{item.metadata.namespace}/{describe(item)}"] = None
                effects.scaled.add(f"{item.metadata.namespace}/{describe(item)}")
            elif isinstance(item, api.Pod):
                effects.workloads[f"{item.metadata.namespace}/Pod/{item.metadata.name}"] = None
        if not any(type(item) in CONTROLLERS or isinstance(item, api.Pod) for item, _ in changed):
            effects.asks_pending = True
        effects.notes += given.notes
        return f"with {self.apply_} applied"


class PlaceAgain(Record, frozen=True):
    """Pods that are placed again, in their old order, as if they had been created now."""

    again: str
    """A namespace, a workload, or `all`."""

    def uids(self, run: ClusterRun, effects: Effects) -> Collection[str]:
        """The pods that are placed again."""
        api_server = run.api_server
        if "/" in self.again:
            item = find_workload(api_server, self.again, effects.namespace)
            pods, phrase = pods_of(api_server, item), f"of {describe(item)}"
            effects.workloads[f"{item.metadata.namespace}/{describe(item)}"] = None
        else:
            pods = [pod for pod in api_server.all(api.Pod) if self.again in ("all", pod.metadata.namespace)]
            phrase = "of all namespaces" if self.again == "all" else f"of namespace {self.again}"
        profiles = run.simulation.engine.profiles
        chosen = [pod for pod in pods if pod.spec.node_name and not is_static(pod)]
        chosen = [pod for pod in chosen if pod.spec.scheduler_name in profiles]
        if not chosen:
            raise InputError(f"--again {self.again}: there are no placed pods")
        effects.again |= {f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in chosen}
        effects.again_phrase = phrase
        return {pod.metadata.uid for pod in chosen}


def _with_spec(item: Any, spec: api.PodSpec) -> Any:
    """The workload with another spec of its pods."""
    if isinstance(item, api.CronJob):
        job = item.spec.job_template
        template = replace(job.spec.template, spec=spec)
        job = replace(job, spec=replace(job.spec, template=template))
        return replace(item, spec=replace(item.spec, job_template=job))
    return replace(item, spec=replace(item.spec, template=replace(item.spec.template, spec=spec)))


def _roll_out(run: ClusterRun, old: Any, new: Any) -> None:
    """Replace all pods of a workload at once; the controllers create the new ones."""
    api_server = run.api_server
    below = Dependents(api_server.objects()).below(old.metadata.uid)
    run.preexisting -= below
    gone = [item for item in api_server.objects() if item.metadata.uid in below]
    run.change(new)
    for item in gone:
        api_server.finish(item)


def _replica_sets(run: ClusterRun, item: Any) -> list[api.ReplicaSet]:
    names = run.api_server.dependents(item.metadata.uid, api.ReplicaSet)
    found = (run.api_server.get(api.ReplicaSet, name, item.metadata.namespace) for name in names)
    return [each for each in found if each is not None]


def _scale_down(run: ClusterRun, item: Any, pods: list[api.Pod], surplus: int) -> None:
    """Delete pending pods first, then the youngest, or those with the highest ordinals."""
    run.preexisting.discard(item.metadata.uid)
    order = sorted(
        range(len(pods)),
        key=lambda i: (isinstance(item, api.StatefulSet) or bool(pods[i].spec.node_name), -i),
    )
    chosen = [pods[i] for i in order[:surplus]]
    names = {pod.metadata.name for pod in chosen}
    for owned in _replica_sets(run, item):
        held = sum(name in names for name in run.api_server.dependents(owned.metadata.uid, api.Pod))
        run.change(replace(owned, spec=replace(owned.spec, replicas=max(0, replicas_of(owned) - held))))
    for pod in chosen:
        run.api_server.finish(pod)


def _with_requests(spec: api.PodSpec, requests: dict[str, str]) -> api.PodSpec:
    containers = {container.name: container for container in spec.containers}
    for key, amount in requests.items():
        name, colon, resource = key.rpartition(":")
        if not colon and len(containers) > 1:
            raise InputError(f"{key}: name the container, as in {next(iter(containers))}:{key}={amount}")
        name = name or next(iter(containers), "")
        if name not in containers:
            raise InputError(f"{key}: there is no container {name}; containers: {', '.join(containers)}")
        container = containers[name]
        resources = container.resources
        changed = replace(resources, requests={**resources.requests, resource: amount})
        if resource in resources.limits and quantity.parse(resources.limits[resource]) < quantity.parse(amount):
            changed = replace(changed, limits={**resources.limits, resource: amount})
        containers[name] = replace(container, resources=changed)
    return replace(spec, containers=tuple(containers.values()))


def _compared(old: api.PodSpec, new: api.PodSpec, requests: dict[str, str]) -> str:
    """`cpu 11.5 instead of 12`."""
    before, after = scheduling_requests(old)[0], scheduling_requests(new)[0]
    parts = []
    for resource in dict.fromkeys(key.rpartition(":")[2] for key in requests):
        then, now = amounts.compared(resource, after.get(resource, 0), before.get(resource, 0))
        parts.append(f"{resource} {then} instead of {now}")
    return " and ".join(parts)
