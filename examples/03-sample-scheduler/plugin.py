"""The classic first plugin of the scheduling framework: logs the calls of PreFilter, Filter and PreBind."""

from __future__ import annotations

import json
import logging

import msgspec

from stowplan import CycleState, NodeInfo, Nodes, Plugin, Pod, Status, error
from stowplan.framework import Handle

log = logging.getLogger("sample-plugin")
log.setLevel(logging.INFO)


class SamplePlugin(Plugin):
    """Accepts every pod and every node, and logs each call."""

    name = "sample-plugin"
    needs_objects = True  # PreBind logs the whole node

    class Args(msgspec.Struct):
        """The plugin's `args` in `pluginConfig`."""

        favorite_color: str = ""
        favorite_number: int = 0
        thanks_to: str = ""

    args: Args

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        log.info("args: %s, %d, thanks to %s", args.favorite_color, args.favorite_number, args.thanks_to)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        log.info("prefilter pod: %s", pod.name)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        log.info("filter pod: %s, node: %s", pod.name, node.name)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        info = self.handle.node_info(node_name)
        if info is None:
            return error(f"prebind get node info error: {node_name}")
        log.info("prebind node info: %s", json.dumps(info.object))
        return None
