"""Versions as plain constants. The build reads them without importing the module."""

__version__ = "0.1.0.dev0"

KUBERNETES_VERSION = "v1.36.4"
"""The reproduced release of kube-scheduler."""
