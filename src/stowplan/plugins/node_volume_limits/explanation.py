"""Rejections by attach limits in words: volumes that are needed, attached and allowed, and pods that would leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.volumes import claim_name
from stowplan.plugins.base import leave
from stowplan.plugins.node_volume_limits.attachable import Attachable, AttachableVolumes

_EFFORT_FEWER = 4.0
_MAX_LEAVING = 16


class VolumeCounter(Protocol):
    """The plugin, as far as explanations call it."""

    cluster: Cluster
    attachable: AttachableVolumes

    def count(
        self, wanted: set[Attachable], limits: Mapping[str, int], node: fwk.NodeInfo, without: frozenset[str] = ...
    ) -> tuple[set[Attachable], Counter[str]] | fwk.Status: ...


def explain_limits(
    counter: VolumeCounter, wanted: set[Attachable], limits: Mapping[str, int], pod: fwk.Pod, node: fwk.NodeInfo
) -> Iterator[fwk.Refusal]:
    """A refusal for each driver whose limit the pod would exceed."""
    counts = counter.count(wanted, limits, node)
    if isinstance(counts, fwk.Status):
        return
    new, current = counts
    for driver, number in sorted(_by_driver(new).items()):
        if current[driver] + number > limits[driver]:
            attached, limit = current[driver], limits[driver]
            volumes = "1 volume" if number == 1 else f"{number:,} volumes"
            is_ = "is" if attached == 1 else "are"
            yield fwk.Refusal(
                id="volume.limit",
                text=f"needs {volumes} of {driver} more; {attached:,} of {limit:,} {is_} attached",
                wanted=f"{volumes} of {driver}",
                there=f"{attached:,} of {limit:,} attached",
                rule=f"may attach {volumes} of {driver} more",
                facts={"driver": driver, "wanted": number, "attached": attached, "limit": limit},
                changes=(
                    *_fewer(counter, pod, driver, new, number - max(limit - attached, 0)),
                    *_leaving(counter, wanted, limits, pod, node),
                ),
            )


def limits_in_words(
    counter: VolumeCounter, wanted: set[Attachable], limits: Mapping[str, int], node: fwk.NodeInfo
) -> fwk.Requirement | None:
    """The volumes that the pod adds, and those that are attached."""
    counts = counter.count(wanted, limits, node)
    if isinstance(counts, fwk.Status) or not counts[0]:
        return None
    new, current = counts
    added = _by_driver(new)
    wants = [f"{number:,} of {driver}" for driver, number in sorted(added.items())]
    there = [f"{current[driver]:,} of {limits[driver]:,} attached" for driver in sorted(added)]
    return fwk.Requirement(", ".join(wants), ", ".join(there))


def _by_driver(volumes: set[Attachable]) -> Counter[str]:
    return Counter(driver for driver, _ in volumes)


def _fewer(
    counter: VolumeCounter, pod: fwk.Pod, driver: str, new: set[Attachable], number: int
) -> Iterator[fwk.Change]:
    """The pod without `number` of the volumes of the driver that it adds."""
    positions = []
    for position, volume in enumerate(pod.spec.volumes):
        name = claim_name(pod, volume)
        volumes = set() if name is None else counter.attachable.of_claim(name, pod.namespace)
        if any(each in new and each[0] == driver for each in volumes):
            positions.append(position)
            new = new - volumes
    if len(positions) >= number:
        patch = [fwk.PatchOperation("remove", f"/spec/volumes/{each}") for each in reversed(positions[-number:])]
        text = f"{'1 volume' if number == 1 else f'{number:,} volumes'} of {driver} fewer"
        yield fwk.Change(kind="volume", on="pod", text=text, effort=_EFFORT_FEWER, patch=tuple(patch))


def _leaving(
    counter: VolumeCounter, wanted: set[Attachable], limits: Mapping[str, int], pod: fwk.Pod, node: fwk.NodeInfo
) -> Iterator[fwk.Change]:
    """Pods of lower priority first, until the limits hold. Volumes that stay attached count on."""
    gone: list[fwk.Pod] = []
    using = [other for other in node.pods.values() if other.template.spec.volumes]
    for other in sorted(using, key=lambda other: (other.priority, other.key))[:_MAX_LEAVING]:
        gone.append(other)
        if _fits(counter, wanted, limits, node, gone):
            needed = [
                each for each in gone if not _fits(counter, wanted, limits, node, [g for g in gone if g is not each])
            ]
            yield leave(counter.cluster, pod, needed if _fits(counter, wanted, limits, node, needed) else gone)
            return


def _fits(
    counter: VolumeCounter,
    wanted: set[Attachable],
    limits: Mapping[str, int],
    node: fwk.NodeInfo,
    gone: list[fwk.Pod],
) -> bool:
    counts = counter.count(wanted, limits, node, frozenset(other.uid for other in gone))
    if isinstance(counts, fwk.Status):
        return False
    new, current = counts
    return all(current[driver] + number <= limits[driver] for driver, number in _by_driver(new).items())
