"""Reads configuration and policy files."""

from stowplan.config.conversion import PolicySource
from stowplan.errors import ConfigError


def read_file(file: str) -> bytes:
    """The content of a file. Raises ConfigError."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise ConfigError(f"open {file}: {(error.strerror or str(error)).lower()}") from error


def read_policy_file(source: PolicySource) -> bytes:
    """The policy file of a configuration. Raises ConfigError."""
    if not source.file:
        raise ConfigError(f"the policy is {source}, which takes a connection to the cluster to read")
    return read_file(source.file)
