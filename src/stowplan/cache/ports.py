"""Host ports in use on the nodes.

Upstream: k8s.io/kube-scheduler/framework/types.go (HostPortInfo)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.api import PodSpec
from stowplan.framework import PodTemplate

ANY_IP = "0.0.0.0"


class HostPort(NamedTuple):
    """A port of the node that a container occupies."""

    protocol: str
    port: int
    ip: str


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The host ports that a pod occupies while it runs: its sidecars', then its containers'."""
    running = (*(c for c in spec.init_containers if c.restart_policy == "Always"), *spec.containers)
    return tuple(
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_IP)
        for container in running
        for port in container.ports
        if port.host_port > 0
    )


def wanted_ports(template: PodTemplate) -> tuple[HostPort, ...]:
    """The host ports of a template's pods, worked out once."""
    return template.derive(host_ports, lambda template: host_ports(template.spec))


def share_a_port(ours: tuple[HostPort, ...], theirs: tuple[HostPort, ...]) -> bool:
    """Whether two pods cannot run on one node because of their host ports."""
    return any(
        a.protocol == b.protocol and a.port == b.port and (a.ip == b.ip or ANY_IP in (a.ip, b.ip))
        for a in ours
        for b in theirs
    )


class PortTable:
    """For each protocol and port, the slots where it is taken, and on which addresses how often."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def shift(self, ports: tuple[HostPort, ...], slot: int, sign: int) -> None:
        """A pod with these ports came to the node (sign 1) or left it (sign -1)."""
        for port in ports:
            self._set(port, slot, self._count(port, slot) + sign)

    def override(self, ports: tuple[HostPort, ...], slot: int, taken: bool) -> list[int]:
        """Mark the ports as taken or free until `restore`, which needs the counts that this returns.

        Free means free of all holders: kube-scheduler's dry run does not count how many pods of a node hold a port.
        """
        before = [self._count(port, slot) for port in ports]
        for port in ports:
            self._set(port, slot, int(taken))
        return before

    def restore(self, ports: tuple[HostPort, ...], slot: int, counts: list[int]) -> None:
        for port, count in zip(ports, counts, strict=True):
            self._set(port, slot, count)

    def _count(self, port: HostPort, slot: int) -> int:
        return self._used.get((port.protocol, port.port), {}).get(slot, {}).get(port.ip, 0)

    def _set(self, port: HostPort, slot: int, count: int) -> None:
        by_slot = self._used.setdefault((port.protocol, port.port), {})
        addresses = by_slot.setdefault(slot, {})
        if count:
            addresses[port.ip] = count
            return
        addresses.pop(port.ip, None)
        if not addresses:
            del by_slot[slot]

    def conflicts(self, wanted: HostPort, slot: int) -> bool:
        """A port on all addresses conflicts with the same port on any address, and the other way round."""
        addresses = self._used.get((wanted.protocol, wanted.port), {}).get(slot)
        if not addresses:
            return False
        return wanted.ip == ANY_IP or wanted.ip in addresses or ANY_IP in addresses

    def conflicting_slots(self, wanted: HostPort) -> NDArray[np.intp]:
        by_slot = self._used.get((wanted.protocol, wanted.port), {})
        return np.array([slot for slot in by_slot if self.conflicts(wanted, slot)], dtype=np.intp)
