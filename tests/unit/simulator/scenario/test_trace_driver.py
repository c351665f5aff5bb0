from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import document, pool

from stowplan.errors import InputError
from stowplan.simulator.scenario import LoadedScenario, compile_scenario
from stowplan.study import RunSettings, run
from stowplan.study.run import LiveRun

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,64000,1024,2,P100\n"


@pytest.fixture
def live(tmp_path: Path) -> LiveRun:
    rows = [
        f"pod-{number},{1 + number % 7}00,16,0,0,,LS,Succeeded,{number},{number + 5},{number}" for number in range(40)
    ]
    (tmp_path / "openb_node_list_all_node.csv").write_text(NODES)
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS + "\n".join(rows) + "\n")
    trace = {"loader": "openb", "path": "."}
    given = document({"name": "t", "trace": trace}, nodes={"trace": trace})
    return LiveRun(compile_scenario(given, "scenario.yaml", tmp_path), 0, RunSettings())


@pytest.mark.parametrize("most", [2, 100])
def test_specs_of_pods_that_are_gone_are_not_kept(live: LiveRun, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    for module in ("traces.objects", "simulator.scenario.trace_driver"):
        monkeypatch.setattr(f"stowplan.{module}.MAX_SHARED_SPECS", most)
    live.run_until(1000)
    (driver,) = live.simulation.drivers
    assert len(driver._specs) == len(driver._objects._specs) == min(most, 7)  # type: ignore[union-attr]
    pods = live.result().pods
    assert pods["request_cpu_m"].tolist() == [100.0 * (1 + number % 7) for number in range(40)]


LISTED = """
from stowplan.traces import Arrival, TraceLoader, TraceNode


class Listed(TraceLoader):
    def nodes(self):
        yield from (TraceNode(name, {"cpu": 64000, "memory": 2**30}) for name in NODES)

    def arrivals(self):
        yield from (Arrival(0.0, key, key, {"cpu": 1000}, 60.0) for key in KEYS)
"""


def listed(folder: Path, keys: list[str], nodes: list[str], **fields: Any) -> LoadedScenario:
    (folder / "listed.py").write_text(f"KEYS = {keys}\nNODES = {nodes}\n{LISTED}")
    trace = {"loader": "./listed.py:Listed", "path": "."}
    given = document({"name": "t", "trace": trace}, nodes={"trace": trace, **fields})
    return compile_scenario(given, "scenario.yaml", folder)


def test_keys_that_give_one_name_are_different_pods(tmp_path: Path) -> None:
    found = run(listed(tmp_path, ["a_b", "a-b", "A.b", "c", "c"], ["n"]))
    assert [name for name, *_ in found.pods.rows()] == [
        "default/a-b", "default/a-b-2", "default/a-b-3", "default/c", "default/c-4",
    ]  # fmt: skip
    assert len(found.jobs) == 5


@pytest.mark.parametrize(
    ("nodes", "pools", "problem"),
    [
        (["m_1", "m-1"], [], "node m-1: m_1 has a node named m-1 too"),
        (["general-1"], [pool()], "node general-1: a pool or a manifest has a node named general-1 too"),
    ],
)
def test_nodes_of_one_name_are_an_error(tmp_path: Path, nodes: list[str], pools: list[Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        run(listed(tmp_path, [], nodes, pools=pools))
    assert str(caught.value) == f"{tmp_path}: {problem}"
