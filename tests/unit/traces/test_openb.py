"""The loader of openb, on lists that the tests write."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stowplan.errors import InputError
from stowplan.traces import TraceLoader, TraceObjects, open_trace
from stowplan.traces.openb import Openb, OpenbPod, tuned_order
from stowplan.traces.records import GPU_MILLI, GPU_MODEL

NODES = "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,1024,2,P100\nopenb-node-0001,32000,2048,1,T4\n"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""{HEADER}
openb-pod-0000,1000,512,1,500,T4|P100|T4,LS,Running,20,100,30
openb-pod-0001,2000,0,2,1000,,LS,Succeeded,10,15,12
openb-pod-0002,3000,16,0,0,,BE,Pending,5,50,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_default.csv.gz").write_bytes(gzip.compress(PODS.encode()))
    order = {"trace": "default", "seed": 42, "pods": [2, 0, 0], "node_ranks": [1, 0]}
    (tmp_path / "openb_orders.jsonl").write_text(json.dumps(order) + "\n")
    return tmp_path


def opened(folder: Path, options: Mapping[str, Any] | None = None) -> TraceLoader:
    return open_trace("openb", folder, options)


def test_nodes_have_milli_gpus_and_their_model(folder: Path) -> None:
    first, second = opened(folder).nodes()
    assert first.allocatable == {"cpu": 64000, "memory": 1 << 30, "pods": 1001, GPU_MILLI: 2000}
    assert second.labels == {GPU_MODEL: "T4"}


def test_pods_arrive_by_creation_time_with_the_duration_of_the_trace(folder: Path) -> None:
    loader = opened(folder)
    whole, shared = loader.selected()
    assert (whole.time, whole.duration, whole.waited, whole.requests[GPU_MILLI]) == (10, 3, 2, 2000)
    assert (shared.time, shared.duration, shared.affinity) == (20, 70, {GPU_MODEL: ("T4", "P100")})
    assert loader.dropped == {"never scheduled": 1}


def test_selection_cuts_and_compresses(folder: Path) -> None:
    (only,) = opened(folder, {"from": 15, "rate": 5}).selected()
    assert (only.key, only.time) == ("openb-pod-0000", 1)
    assert [each.key for each in opened(folder, {"limit": 1}).selected()] == ["openb-pod-0001"]
    assert [each.key for each in opened(folder, {"to": 20}).selected()] == ["openb-pod-0001"]


def test_an_order_file_repeats_pods_under_new_names(folder: Path) -> None:
    arrivals = list(opened(folder, {"order": "file"}).selected())
    assert [each.key for each in arrivals] == ["openb-pod-0002", "openb-pod-0000", "openb-pod-0000-1"]
    assert [each.duration for each in arrivals] == [None] * 3


def test_summary(folder: Path) -> None:
    about = opened(folder).about()
    assert (about.nodes, about.pods, about.span_seconds) == (2, 2, 10)
    assert about.offered_load[GPU_MILLI] == pytest.approx((2000 * 3 + 500 * 70) / 3000 / 10)


@pytest.mark.parametrize("goal", [900, 4000])
def test_tuning_reaches_the_goal_from_both_sides(goal: int) -> None:
    pods = [OpenbPod(f"p-{number}", 1, 1, number % 2, 100, "") for number in range(40)]
    order = tuned_order(pods, goal, random.Random(1))
    assert goal - 100 < sum(pod.total_milli for pod in order) <= goal
    assert (len(order) > 40) == (goal == 4000)
    if goal == 4000:
        assert sorted(order[:40]) == sorted(pods)


def test_objects_of_equal_arrivals_share_their_spec(folder: Path) -> None:
    loader, objects = opened(folder, {"order": "file"}), TraceObjects()
    _, one, other = (next(objects.pods(arrival)) for arrival in loader.selected())
    assert one.spec is other.spec
    assert one.metadata.name != other.metadata.name
    node = objects.node(next(loader.nodes()))
    assert node.status.allocatable[GPU_MILLI] == "2000"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,cpu_milli\n", "openb_pod_list_default.csv: missing columns: memory_mib, num_gpu, gpu_milli"),
        (f"{HEADER}\n", "openb_pod_list_default.csv: no pods"),
        (f"{HEADER}\np-0,x,1,0,0,,,,0,1,0\n", "openb_pod_list_default.csv:2: cpu_milli is not a number: 'x'"),
        (f"{HEADER}\np-0,1,-1,0,0,,,,0,1,0\n", "openb_pod_list_default.csv:2: memory_mib is negative: -1"),
        (f"{HEADER}\np-0,1,nan,0,0,,,,0,1,0\n", "openb_pod_list_default.csv:2: memory_mib is not a finite number"),
        (f"{HEADER}\np-0,1\n", "openb_pod_list_default.csv:2: 2 columns instead of 11"),
        (
            f"{HEADER}\np-0,1,1,0,0,,,,0,1,7\n",
            "openb_pod_list_default.csv:2: negative duration, scheduled_time to deletion_time runs from 7 to 1",
        ),
    ],
)
def test_bad_lists_are_one_line(folder: Path, content: str, message: str) -> None:
    (folder / "openb_pod_list_default.csv.gz").unlink()
    (folder / "openb_pod_list_default.csv").write_text(content)
    with pytest.raises(InputError) as problem:
        list(opened(folder).selected())
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_times_are_required_where_they_determine_the_arrivals(folder: Path) -> None:
    rows = [",".join(row.split(",")[:5]) for row in PODS.splitlines()]
    (folder / "openb_pod_list_default.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    assert [arrival.time for arrival in opened(folder, {"order": "file"}).selected()] == [0, 1, 2]
    with pytest.raises(InputError, match="missing columns: creation_time, scheduled_time, deletion_time"):
        list(opened(folder).selected())
    with pytest.raises(InputError, match=r"missing columns: creation_time$"):
        list(opened(folder, {"departures": False}).selected())


def test_other_bad_input_is_one_line(folder: Path) -> None:
    with pytest.raises(InputError, match=r'unknown trace loader "openbee": did you mean openb\?'):
        open_trace("openbee", folder)
    with pytest.raises(InputError, match="options of trace loader openb: Object contains unknown field `ordr`"):
        open_trace("openb", folder, {"ordr": "file"})
    with pytest.raises(InputError, match=r"no file openb_pod_list_x.csv \(or with .gz\)"):
        list(opened(folder, {"trace": "x"}).selected())
    with pytest.raises(InputError, match="no order for trace default and seed 7"):
        list(opened(folder, {"order": "file", "seed": 7}).selected())
    (folder / "openb_pod_list_default.csv.gz").write_bytes(gzip.compress(PODS.encode())[:40])
    with pytest.raises(InputError, match="cannot be read"):
        list(opened(folder).selected())


def test_times_that_run_backwards_are_refused(folder: Path) -> None:
    class Backwards(Openb):
        def arrivals(self) -> Any:
            return reversed(list(super().arrivals()))

    with pytest.raises(InputError, match=": openb-pod-0001: times run backwards, 10 after 20"):
        list(open_trace(Backwards, folder).selected())
