"""Leader election in a hurry."""

from typing import Any

from stowplan.testing import KubeApi, Process

LEASE_SECONDS = 4.0
ELECTING: dict[str, Any] = {
    "leaderElection": {"leaderElect": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "300ms"}
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
