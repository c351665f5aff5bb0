"""Source of a configuration's Policy."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from stowplan.errors import ConfigError


class PolicySource(NamedTuple):
    """A file, or a ConfigMap with the policy under the key `policy.cfg`."""

    file: str = ""
    namespace: str = ""
    name: str = ""
    kubeconfig: str = ""
    """The kubeconfig of the ConfigMap's cluster."""

    def __str__(self) -> str:
        return self.file or f"ConfigMap {self.namespace}/{self.name}"


POLICY_KEY = "policy.cfg"

PolicyReader: TypeAlias = Callable[[PolicySource], str | bytes]
"""Reads a policy. Raises StowplanError."""


def refuse(source: PolicySource) -> str | bytes:
    """A reader that raises: for configurations without access to files and clusters."""
    raise ConfigError(f"the policy is in {source}, which cannot be read here; convert the configuration first")
