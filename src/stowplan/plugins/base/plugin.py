"""The base class: a plugin that reads the columnar cache."""

from __future__ import annotations

from typing import Any

from stowplan.cache import Cluster
from stowplan.framework import Handle, Plugin


class InTreePlugin(Plugin):
    """A plugin with both forms: plain ints for one node, columns for many. Property tests hold them together."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.cluster: Cluster = handle.cluster
        self.nodes = self.cluster.nodes
