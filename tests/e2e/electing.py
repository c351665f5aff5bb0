"""Leader election in a hurry, with time for who stands still for some seconds."""

from typing import Any

from stowplan.testing import KubeApi, Process

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
    """Whether it would lead if nobody else did."""
    return "Attempting to acquire" in replica.log.read_text()
