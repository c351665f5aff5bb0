"""Leader election with a short lease that still outlives a replica's pause of some seconds."""

from collections.abc import Callable
from typing import Any

from stowplan.testing import KubeApi, Process, wait_until

LEASE_SECONDS = 7.0
ELECTING: dict[str, Any] = {
    "leaderElection": {"leaderElect": True, "leaseDuration": "7s", "renewDeadline": "5s", "retryPeriod": "300ms"}
}
"""A configuration in which the lease has its usual name and place."""

_LEASE = ("coordination.k8s.io/v1/Lease", "kube-scheduler", "kube-system")


class Lease:
    """The lease of that configuration."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def __getitem__(self, field: str) -> Any:
        """A field of its spec, as it is now."""
        return self._api.get(*_LEASE)["spec"].get(field)

    def delete(self) -> None:
        self._api.delete(*_LEASE)


def leads(replica: Process) -> bool:
    return "Successfully acquired lease" in replica.log.read_text()


def stands(replica: Process) -> bool:
    """Whether the replica is a candidate."""
    return "Attempting to acquire" in replica.log.read_text()


def leader_and_follower(start_stowplan: Callable[..., Process]) -> tuple[Process, Process]:
    """Two replicas, of which the first leads."""
    leader = start_stowplan(config=ELECTING, name="first")
    wait_until(lambda: leads(leader))
    follower = start_stowplan(config=ELECTING, name="second")
    wait_until(lambda: stands(follower))
    return leader, follower
