"""The stream of changes leaves a client with the columns of a fresh map; it resumes, merges and resets."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tests.builders import World
from tests.builders.objects import node, typed
from tests.property.vocabulary import make_node, make_pod

from stowplan.cache import Cluster
from stowplan.insight.slices import run
from stowplan.web.columns import copy_changes, copy_nodes, copy_pods
from stowplan.web.mirror import RING_SECONDS, Mirror
from stowplan.web.pod_table import PodTable

CHANGES = 1000


class Client:
    """Applies events as the page does."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.resets = 0
        self.load()

    def load(self) -> None:
        self.map = json.loads(json.dumps(plain(self.mirror.map())))
        self.revision = self.map["revision"]
        assert self.mirror.pods is not None
        self.pods = pod_rows(plain(self.mirror.pods.columns("", 0)))

    def take(self) -> list[str]:
        names = []
        for name, data in events(self.mirror.events_after(self.revision, pods=True)):
            names.append(name)
            getattr(self, name)(data)
        self.revision = self.mirror.revision
        return names

    def reset(self, data: Any) -> None:
        self.resets += 1
        self.load()

    def nodes(self, data: Any) -> None:
        for name, values in data["requested"].items():
            put(self.map["nodes"]["requested"], name, data["slot"], values)

    def flags(self, data: Any) -> None:
        put(self.map["nodes"], "flags", data["slot"], data["flags"])

    def left(self, data: Any) -> None:
        columns = self.map["nodes"]
        for position in data["slot"]:
            columns["name"][position], columns["flags"][position] = "", 16

    def joined(self, data: Any) -> None:
        columns, new = self.map["nodes"], data["nodes"]
        for key in ("name", "flags", "created"):
            put(columns, key, data["slot"], new[key])
        for group in ("allocatable", "requested"):
            for name, values in new[group].items():
                put(columns[group], name, data["slot"], values)
        for key, values in {**new["labels"], "taints": new["taints"]}.items():
            holder = columns if key == "taints" else columns["labels"]
            put(holder, key, data["slot"], values)

    def feed(self, data: Any) -> None:
        assert 0 < len(data["items"]) <= 20

    def pods_(self, data: Any) -> None:
        rows = pod_rows(data, data["pod"])
        self.pods.update(rows)
        for gone in data["gone"]:
            self.pods.pop(gone, None)


def put(holder: Any, key: str, slots: list[int], values: Any) -> None:
    column = holder[key]
    for slot, value in zip(slots, listed(values, len(slots)), strict=True):
        while len(column) <= slot:
            column.append("" if column and isinstance(column[0], str) else 0)
        column[slot] = value


def listed(values: Any, size: int) -> list[Any]:
    if isinstance(values, dict) and "values" in values:
        return [values["values"][index] for index in listed(values["index"], size)]
    return [values["all"]] * size if isinstance(values, dict) else values


def plain(struct: Any) -> Any:
    """The JSON, with columns as lists."""
    import msgspec

    data = json.loads(msgspec.json.encode(struct))
    nodes = data.get("nodes")
    if nodes is None:
        return data
    size = len(nodes["name"])
    for group in ("allocatable", "requested", "labels"):
        nodes[group] = {name: listed(values, size) for name, values in nodes[group].items()}
    for name in ("taints", "flags", "created"):
        nodes[name] = listed(nodes[name], size)
    return data


def pod_rows(data: Any, numbers: list[int] | None = None) -> dict[int, Any]:
    size = len(numbers) if numbers is not None else _size(data)
    columns = {name: listed(values, size) for name, values in data["requests"].items()}
    node_of, workload = listed(data["node"], size), listed(data["workload"], size)
    rows = {
        (position if numbers is None else numbers[position]): (
            node_of[position],
            workload[position],
            {name: values[position] for name, values in columns.items()},
        )
        for position in range(size)
    }
    return {number: row for number, row in rows.items() if row[0] >= 0}


def _size(data: Any) -> int:
    return max(
        (
            len(values)
            for values in (data["node"], data["workload"]["index"], *data["requests"].values())
            if isinstance(values, list)
        ),
        default=1,
    )


def events(stream: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in stream.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        if lines:
            found.append((lines["event"] if lines["event"] != "pods" else "pods_", json.loads(lines["data"])))
    return found


def alive(map_: Any) -> dict[str, Any]:
    """Everything about each node, by name."""
    nodes = map_["nodes"]
    found = {}
    for slot, name in enumerate(nodes["name"]):
        if name:
            found[name] = (
                slot,
                nodes["flags"][slot],
                nodes["taints"][slot],
                {key: values[slot] for key, values in nodes["labels"].items()},
                {key: values[slot] for key, values in nodes["allocatable"].items()},
                {key: values[slot] for key, values in nodes["requested"].items()},
            )
    return found


def change(rng: random.Random, cluster: Cluster, number: int) -> None:
    """One random change of nodes or pods."""
    names = list(cluster.nodes.slot_of)
    roll = rng.random()
    if roll < 0.05 or len(names) < 5:
        cluster.put_node(typed(make_node(f"n{rng.randrange(60)}", rng.randrange(100))))
    elif roll < 0.08:
        cluster.remove_node(rng.choice(names))
    elif roll < 0.12:
        cluster.put_node(typed(node(rng.choice(names), unschedulable=rng.random() < 0.5, labels={"pool": "x"})))
    elif roll < 0.7 or not cluster.pods:
        cluster.add_pod(cluster.pod(typed(make_pod(f"p{number}", rng.randrange(100), rng.choice(names)))))
    else:
        cluster.remove_pod(rng.choice(list(cluster.pods)))


def loaded(cluster: Cluster, mirror: Mirror) -> None:
    mirror.begin(copy_nodes(cluster))
    mirror.pods = PodTable(mirror.resources)
    for slot, pods in enumerate(run(copy_pods(cluster))):
        mirror.pods.put_node(slot, pods)


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_changes_leave_the_columns_of_a_fresh_map(seed: int) -> None:
    rng, world = random.Random(seed), World()
    cluster = world.cluster
    for number in range(20):
        change(rng, cluster, number)
    mirror = Mirror("e")
    loaded(cluster, mirror)
    client, slow = Client(mirror), Client(mirror)
    for number in range(CHANGES):
        change(rng, cluster, 100 + number)
        if rng.random() < 0.3:
            mirror.apply(copy_changes(cluster, mirror.position, mirror.node_position, pods=True))
            client.take()
            if rng.random() < 0.03:
                slow.take()
    mirror.apply(copy_changes(cluster, mirror.position, mirror.node_position, pods=True))
    client.take()
    slow.take()
    fresh = Mirror("f")
    loaded(cluster, fresh)
    fresh.labels, fresh.resources = mirror.labels, mirror.resources
    fresh.pods.show(mirror.resources)  # type: ignore[union-attr]
    for each in (client, slow):
        assert alive(each.map) == alive(plain(fresh.map()))
        on_nodes = {(slot, workload, tuple(amounts.items())) for slot, workload, amounts in each.pods.values()}
        assert len(each.pods) == sum(len(info.pods) for info in cluster.nodes)
        assert on_nodes == {
            (slot, workload, tuple(amounts.items()))
            for slot, workload, amounts in pod_rows(plain(fresh.pods.columns("", 0))).values()  # type: ignore[union-attr]
        }


def test_changes_that_are_taken_back_make_no_event() -> None:
    world = World()
    world.cluster.put_node(typed(node("a")))
    mirror = Mirror("e")
    mirror.begin(copy_nodes(world.cluster))
    before = mirror.revision
    pod = world.cluster.pod(typed(make_pod("p", 0, "a")))
    world.cluster.add_pod(pod)
    world.cluster.remove_pod(pod.uid)
    mirror.apply(copy_changes(world.cluster, mirror.position, mirror.node_position))
    assert mirror.revision == before


def test_an_unknown_or_forgotten_revision_gets_a_reset() -> None:
    clock = [0.0]
    mirror = Mirror("e", clock=lambda: clock[0])
    mirror.begin(copy_nodes(World().cluster))
    mirror.publish("run", {"time": 1})
    known = mirror.revision
    assert [name for name, _ in events(mirror.events_after(-1, pods=False))] == ["reset"]
    assert [name for name, _ in events(mirror.events_after(known + 1, pods=False))] == ["reset"]
    for _ in range(3):
        clock[0] += RING_SECONDS / 2 + 1
        mirror.publish("run", {"time": clock[0]})
    assert [name for name, _ in events(mirror.events_after(known, pods=False))] == ["reset"]
    assert [name for name, _ in events(mirror.events_after(mirror.revision - 1, pods=False))] == ["run"]


def test_the_id_is_on_the_last_event_of_a_batch() -> None:
    world = World()
    world.cluster.put_node(typed(node("a")))
    mirror = Mirror("e")
    mirror.begin(copy_nodes(world.cluster))
    revision = mirror.revision
    world.cluster.put_node(typed(node("b")))
    mirror.apply(copy_changes(world.cluster, mirror.position, mirror.node_position))
    mirror.publish("run", {"time": 1})
    blocks = mirror.events_after(revision, pods=False).decode().strip().split("\n\n")
    assert ["id: " in block for block in blocks] == [False] * (len(blocks) - 1) + [True]
    assert blocks[-1].endswith(f"id: e-{mirror.revision}")
