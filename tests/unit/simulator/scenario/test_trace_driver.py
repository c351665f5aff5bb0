from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.simulator.scenario.scenarios import document

from stowplan.simulator.scenario import compile_scenario
from stowplan.study import RunSettings
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
