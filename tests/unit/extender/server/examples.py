"""A small plugin, and requests about pods and nodes."""

from typing import Any

import msgspec

from stowplan import Plugin, reject
from stowplan.extender.handlers import GroupMember


class Tidy(Plugin):
    """Likes nodes with a label."""

    name = "Tidy"
    scope = "node"
    wanted = "yes"

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return None if node.labels.get("tidy") == self.wanted else reject("untidy")

    def score(self, state: Any, pod: Any, node: Any) -> float:
        return len(node.name) * 10


class Lax(Tidy):
    wanted = "no"


TIDY = GroupMember(Tidy)


def request(*nodes: tuple[str, str], names_only: bool = False, name: str = "web") -> bytes:
    """About a pod, and nodes with the value of their label."""
    items = [{"metadata": {"name": name, "labels": {"tidy": value}}, "spec": {}, "status": {}} for name, value in nodes]
    container = {"name": "c", "image": "x", "env": [{"name": "PASSWORD", "value": "hush"}]}
    pod = {"metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}"}, "spec": {"containers": [container]}}
    body = {
        "Pod": pod,
        "Nodes": None if names_only else {"metadata": {}, "items": items},
        "NodeNames": [name for name, _ in nodes] if names_only else None,
    }
    return msgspec.json.encode(body)
