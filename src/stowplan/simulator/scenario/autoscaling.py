"""The autoscaler of a scenario: checked settings, and its start."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from stowplan.config.errors import Problems
from stowplan.simulator.autoscaler import (
    CONSOLIDATION_POLICIES,
    EXPANDERS,
    ClusterAutoscaler,
    ClusterAutoscalerSettings,
    Karpenter,
    KarpenterSettings,
    NodeGroup,
    NodeGroups,
)
from stowplan.simulator.kubelet import LifeObserver
from stowplan.simulator.node_lifecycle import NodeLifecycle
from stowplan.simulator.scenario.fields import probability, time_at
from stowplan.simulator.scenario.pools import POOL_LABEL, ZONE_LABEL, CompiledPool
from stowplan.simulator.scenario.schema import AutoscalerSpec, GroupSpec
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.streams import RandomStreams

_KINDS = ("cluster-autoscaler", "karpenter")
_PATH = "$.autoscaler"


class CompiledAutoscaler(NamedTuple):
    """An autoscaler that was checked."""

    groups: tuple[GroupSpec, ...]
    settings: ClusterAutoscalerSettings | KarpenterSettings


def compile_autoscaler(
    spec: AutoscalerSpec | None, problems: Problems, pools: dict[str, CompiledPool]
) -> CompiledAutoscaler | None:
    """Check the autoscaler; faults are added to `problems`."""
    if spec is None:
        return None
    for name, choices in (
        ("kind", _KINDS),
        ("expander", EXPANDERS),
    ):
        if getattr(spec, name) not in choices:
            problems.unsupported(f"{_PATH}.{name}", getattr(spec, name), choices)
    if spec.consolidation_policy not in CONSOLIDATION_POLICIES:
        problems.unsupported(f"{_PATH}.consolidationPolicy", spec.consolidation_policy, CONSOLIDATION_POLICIES)
    if not spec.groups:
        problems.required(f"{_PATH}.groups")
    for index, group in enumerate(spec.groups):
        path = f"{_PATH}.groups[{index}]"
        if group.pool not in pools:
            problems.add(f"{path}.pool", f'no pool named "{group.pool}"')
        elif not 0 <= group.min <= group.max:
            problems.add(f"{path}.min", "must be 0 or more, and not larger than max")
        elif pools[group.pool].count > group.max:
            problems.add(f"{path}.max", f"the pool has {pools[group.pool].count} nodes at the start")
    return CompiledAutoscaler(spec.groups, _settings(spec, problems))


def _settings(spec: AutoscalerSpec, problems: Problems) -> ClusterAutoscalerSettings | KarpenterSettings:
    def seconds(value: object, name: str, *, positive: bool = False) -> float:
        return time_at(value, f"{_PATH}.{name}", problems, positive=positive)

    provision = seconds(spec.max_node_provision_time, "max-node-provision-time")
    if spec.kind == "karpenter":
        expire = math.inf if spec.expire_after is None else seconds(spec.expire_after, "expireAfter", positive=True)
        return KarpenterSettings(
            seconds(spec.batch_idle_duration, "batch-idle-duration"),
            seconds(spec.batch_max_duration, "batch-max-duration"),
            spec.consolidation_policy,
            seconds(spec.consolidate_after, "consolidateAfter"),
            probability(spec.budget, f"{_PATH}.budget", problems),
            expire,
            provision,
        )
    return ClusterAutoscalerSettings(
        spec.expander,
        seconds(spec.scan_interval, "scan-interval", positive=True),
        seconds(spec.new_pod_scale_up_delay, "new-pod-scale-up-delay"),
        spec.scale_down_enabled,
        seconds(spec.scale_down_unneeded_time, "scale-down-unneeded-time"),
        seconds(spec.scale_down_delay_after_add, "scale-down-delay-after-add"),
        spec.scale_down_utilization_threshold,
        provision,
    )


def start_autoscaler(
    compiled: CompiledAutoscaler,
    pools: dict[str, CompiledPool],
    simulation: Simulation,
    lifecycle: NodeLifecycle,
    streams: RandomStreams,
    lives: LifeObserver,
) -> None:
    """Start the autoscaler on a simulation whose first nodes exist."""
    groups = [
        NodeGroup(
            pools[spec.pool],
            spec.min,
            spec.max,
            spec.priority,
            partial(pools[spec.pool].startup.draw, streams.of(f"nodes.{spec.pool}", "startup")),
        )
        for spec in compiled.groups
    ]
    node_groups = NodeGroups(groups, simulation.api_server, lifecycle, lives.node_event, POOL_LABEL, ZONE_LABEL)
    if isinstance(compiled.settings, KarpenterSettings):
        Karpenter(simulation, node_groups, compiled.settings).begin()
    else:
        choose = streams.of("autoscaler", "expander").uniform
        ClusterAutoscaler(simulation, node_groups, compiled.settings, choose).begin()
