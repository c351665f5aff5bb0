"""What handlers need of those who talk to an API server: a cache of nodes and pods, and somebody who binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from stowplan.cache import Cluster
from stowplan.framework import Pod, Status


class ClusterCache(Protocol):
    """A cache of nodes and pods, fed by list and watch.

    Whoever feeds it changes `cluster` through `Handlers.apply` alone, since plugins read it on other threads.
    """

    @property
    def cluster(self) -> Cluster: ...

    @property
    def synced(self) -> bool:
        """Whether all nodes and pods have been listed."""

    def pending_pod(self, uid: str) -> Pod | None:
        """A pod that is on no node yet."""


class ReservationPort(Protocol):
    """Reservations by pod uid, and the binding that ends them."""

    def restart(self, pod: Pod) -> None:
        """The pod is filtered anew: what was held for it is released. Called on a handler's thread."""

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Write the Binding; None is success, also where the pod is on that node already. Called on the event loop."""


Change = Callable[[], None]
"""A change of the cluster, made while no plugin looks at it."""
