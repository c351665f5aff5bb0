"""Versions as plain constants: the build reads them without importing, `stowplan version` without importing much."""

__version__ = "0.1.0.dev0"

KUBERNETES_VERSION = "v1.36.4"
"""The kube-scheduler release whose verdicts are the reference."""
