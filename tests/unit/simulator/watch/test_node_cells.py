"""Cells of nodes that are ready, cordoned, dead and gone, and their characters."""

from typing import Any

from tests.builders import node

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.simulator.watch.node_cells import CORDONED, DEAD, READY, NodeCells, accelerators
from stowplan.simulator.watch.node_map import map_lines

ZONE = "topology.kubernetes.io/zone"


def put(cluster: Cluster, made: dict[str, Any]) -> api.Node:
    item = codec.convert(api.Node, made)
    cluster.put_node(item)
    return item


def marks(cells: NodeCells, cluster: Cluster) -> dict[str, str]:
    return {
        pool: "".join({READY: ".", CORDONED: "#", DEAD: "x"}[cell.state] for cell in found)
        for zone in cells.zones(cluster.nodes, {})
        for pool, found in zone.pools.items()
    }


def test_states_of_nodes() -> None:
    cluster, cells = Cluster(), NodeCells()
    put(cluster, node("a"))
    put(cluster, {**node("b"), "spec": {"unschedulable": True}})
    put(cluster, {**node("c"), "spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}})
    down = node("d")
    down["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    gone = put(cluster, down)
    assert marks(cells, cluster) == {"-": ".#xx"}
    cluster.remove_node(gone.metadata.name)
    assert marks(cells, cluster) == {"-": ".#xx"}, "a deleted node keeps its cell"


def test_pools_by_the_labels_of_clouds() -> None:
    cluster, cells = Cluster(), NodeCells()
    for name, pool in (("a", "x"), ("b", "y"), ("c", "x")):
        put(cluster, node(name, labels={ZONE: "z", "karpenter.sh/nodepool": pool}))
    assert marks(cells, cluster) == {"x": "..", "y": "."}


def test_gpus_are_counted() -> None:
    cluster = Cluster()
    made = node("a")
    made["status"]["allocatable"] = {**made["status"]["allocatable"], "nvidia.com/gpu": "8", "example.com/nic": "2"}
    put(cluster, made)
    assert accelerators(cluster.nodes, {"b": (1, 4)}) == (1, 12)


def test_many_zones_are_drawn_in_bands() -> None:
    cluster, cells = Cluster(), NodeCells()
    for number in range(40):
        put(cluster, node(f"n{number:02}", labels={ZONE: f"zone-{number % 10}"}))
    lines = [line.plain for line in map_lines(cells.zones(cluster.nodes, {}), 80, 40, ascii_only=True)]
    assert max(map(len, lines)) < 80
    text = "\n".join(lines)
    assert all(f"zone-{number}" in text for number in range(10))
    assert text.count(".") == 40
