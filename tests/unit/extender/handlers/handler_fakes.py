"""Plugins, requests, and fakes of the informer cache and the reservations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.builders import Json, node, pod

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.extender.handlers import VerbReply
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Scope, Status, error, reject, reject_forever


class Tiers(Plugin):
    """Passes gold, rejects silver, rejects lead for good, fails on bronze. Scores by label."""

    name = "tiers"
    scope: ClassVar[Scope] = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        match node.labels.get("tier"):
            case "silver":
                return reject("full")
            case "lead":
                return reject_forever("wrong metal")
            case "bronze":
                return error("cannot tell")
            case "boom":
                raise ValueError("no such tier")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return float(node.labels.get("score", 0))


class FakeClusterCache:
    def __init__(self, *objects: Json, synced: bool = True) -> None:
        self.cluster = Cluster()
        self.has_synced = synced
        self.pending: dict[str, Pod] = {}
        for item in objects:
            self.put(item)

    def put(self, item: Json) -> None:
        if "allocatable" in item.get("status", {}):
            self.cluster.put_node(codec.convert(api.Node, item))
        else:
            self.cluster.add_pod(self.cluster.pod(codec.convert(api.Pod, item)))

    def pending_pod(self, uid: str) -> Pod | None:
        return self.pending.get(uid)


class FakeReservations:
    def __init__(self, answer: Status | None = None) -> None:
        self.answer = answer
        self.restarted: list[str] = []
        self.bound: list[tuple[str, str]] = []
        self.annotated: dict[str, dict[str, str]] = {}

    def restart(self, pod: Pod) -> None:
        self.restarted.append(pod.uid)

    async def annotate(self, pod: Pod, annotations: Mapping[str, str]) -> Status | None:
        self.annotated[pod.key] = dict(annotations)
        return self.answer

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        self.bound.append((pod.key, node_name))
        return self.answer


def named(*names: str, of: Json | None = None) -> bytes:
    return encode({"Pod": of or pod("web"), "Nodes": None, "NodeNames": list(names)})


def full(*nodes: Json, of: Json | None = None) -> bytes:
    return encode({"Pod": of or pod("web"), "Nodes": {"metadata": {}, "items": list(nodes)}, "NodeNames": None})


def tiers(**by_name: str) -> list[Json]:
    return [node(name, labels={"tier": tier}) for name, tier in by_name.items()]


def encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def reply_json(reply: VerbReply) -> Any:
    assert reply.status == 200, reply.body
    return json.loads(reply.body)
