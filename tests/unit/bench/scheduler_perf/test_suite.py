from pathlib import Path

import pytest
from tests.unit.bench.scheduler_perf.small_suite import write_suite

from stowplan.bench.scheduler_perf.suite import PerfWorkload, load_suite, select
from stowplan.errors import InputError


@pytest.fixture
def workloads(tmp_path: Path) -> dict[str, PerfWorkload]:
    return {workload.name: workload for workload in load_suite(write_suite(tmp_path))}


def test_parameters_are_filled_in_and_pod_sets_unrolled(workloads: dict[str, PerfWorkload]) -> None:
    nodes, first, second, measured = workloads["Basic/2Nodes"].operations
    assert nodes == {"opcode": "createNodes", "count": 2}
    assert [first["namespace"], second["namespace"]] == ["set-0", "set-1"]
    assert first["count"] == 1
    assert measured["count"] == 4
    assert workloads["Basic/2Nodes"].threshold == 20
    assert workloads["Basic/2Nodes"].pod_template == "templates/pod.yaml"


def test_thresholds_by_topic_take_the_folder(workloads: dict[str, PerfWorkload]) -> None:
    assert workloads["Basic/ByTopic"].threshold == 7


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Basic/2Nodes", ""),
        ("Basic/Locked", "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"),
        ("Basic/Hook", "features: read by a hook inside the suite's process"),
        ("Claims/Some", "allocResourceClaims runs the allocator inside the suite's process"),
        ("Claims/None", ""),
        ("Slices/All", "measures an informer inside the suite's process, and no pods"),
    ],
)
def test_obstacles(workloads: dict[str, PerfWorkload], name: str, reason: str) -> None:
    assert workloads[name].obstacle == reason


def test_gates_that_have_their_default_are_not_passed(workloads: dict[str, PerfWorkload]) -> None:
    assert workloads["Claims/None"].changed_gates == {"SchedulerAsyncAPICalls": True}
    assert workloads["Claims/None"].has_claims


def test_select(workloads: dict[str, PerfWorkload]) -> None:
    every = list(workloads.values())
    assert len(select(every, (), ())) == len(every)
    assert [w.name for w in select(every, ("Claims",), ())] == ["Claims/Some", "Claims/None"]
    assert [w.name for w in select(every, ("Basic",), ("short",))] == ["Basic/2Nodes"]
    with pytest.raises(InputError, match="no workload 'Nothing'"):
        select(every, ("Nothing",), ())


def test_a_folder_without_configurations_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no performance-config\.yaml"):
        load_suite(tmp_path)
