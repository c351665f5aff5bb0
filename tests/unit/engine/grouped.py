"""Engines with pod groups, and what their pods and PodGroups report."""

from __future__ import annotations

from typing import Any

from tests.builders import Json, member, pod, pod_group
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.api import codec
from stowplan.api.pod_group import POD_GROUP_SCHEDULED
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD
from stowplan.config.releases import LATEST
from stowplan.framework import CycleState, Plugin, Pod, Status
from stowplan.runtime import enable_everywhere

CPU: Json = {"requests": {"cpu": "1"}}


class SlowPermit(Plugin):
    """A Permit plugin of others, which runs on a thread."""

    name = "Slow"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None


def host(*items: Any, gates: tuple[str, ...] = (GANG_SCHEDULING,), slow: bool = False, **more: Any) -> Host:
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, *gates), True))
    config = default_configuration(release)
    return Host(*items, config=enable_everywhere(config, {"Slow": SlowPermit}) if slow else config, **more)


def group(name: str = "g", min_count: int | None = None, **more: Any) -> api.PodGroup:
    return codec.convert(api.PodGroup, pod_group(name, min_count, **more))


def members(count: int, name: str = "g", **how: Any) -> list[Json]:
    return [member(f"{name}-{i}", name, **{**CPU, **how}) for i in range(count)]


def bound(made: Host) -> dict[str, str]:
    return {each.metadata.name: each.spec.node_name for each in made.world.all(api.Pod) if each.spec.node_name}


def condition(made: Host, name: str = "g") -> tuple[str, str, str] | None:
    found = made.world.get(api.PodGroup, name, "default")
    assert found is not None
    it = found.condition(POD_GROUP_SCHEDULED)
    return None if it is None else (it.status, it.reason, it.message)


def message(made: Host, name: str) -> str:
    found = made.world.get(api.Pod, name, "default")
    assert found is not None
    return next((it.message for it in found.status.conditions if it.type == "PodScheduled"), "")


def low(count: int) -> list[Json]:
    return [pod(f"low-{i}", "n", priority=1, **CPU) for i in range(count)]


def host_of_two_schedulers(*items: Any) -> Host:
    release = LATEST.with_gates({GENERIC_WORKLOAD: True, GANG_SCHEDULING: True})
    profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = from_builtins({**kind, "profiles": profiles}, "config", IN_TREE_PLUGINS, release=release)
    return Host(*items, config=config)
