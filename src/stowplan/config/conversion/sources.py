"""Where a configuration says that its policy is."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from stowplan.errors import ConfigError


class PolicySource(NamedTuple):
    """A file, or else a ConfigMap, whose key `policy.cfg` holds the policy."""

    file: str = ""
    namespace: str = ""
    name: str = ""
    kubeconfig: str = ""
    """The file that tells how to reach the cluster of the ConfigMap."""

    def __str__(self) -> str:
        return self.file or f"ConfigMap {self.namespace}/{self.name}"


POLICY_KEY = "policy.cfg"

PolicyReader: TypeAlias = Callable[[PolicySource], str | bytes]
"""Fetches a policy. Raises StowplanError where it cannot."""


def refuse(source: PolicySource) -> str | bytes:
    """For readers of a configuration who can go nowhere else."""
    raise ConfigError(f"the policy is in {source}, which cannot be read here; convert the configuration first")
