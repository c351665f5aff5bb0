from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import document, pod, pool, workload

from stowplan.config.errors import Problems
from stowplan.errors import ConfigError
from stowplan.simulator.scenario import compile_scenario, load_scenario
from stowplan.simulator.scenario.quantities import count_of, quantity
from stowplan.simulator.streams import RandomStreams

BATCH: dict[str, Any] = {"name": "b", "template": pod(), "arrivals": {"every": "1m"}, "duration": "1m"}
DEPLOYMENT = workload("Deployment", "web")


def problems(*workloads: Any, **fields: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        compile_scenario(document(*workloads, **fields), "s.yaml", Path())
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"kind": "Deployment"}, 's.yaml: $.kind: Unsupported value: "Deployment": supported values: "Scenario"'),
        ({"sede": 1}, 's.yaml: $.sede: unknown field (did you mean "seed"?)'),
        ({"until": {}}, "s.yaml: $.until: Required value: time, drained, arrivals or stuck"),
        ({"until": {"time": "1x"}}, "s.yaml: $.until.time: expected a time such as 90s, 10m, 8h30m or 2d, or a number"),
        ({"start": "yesterday"}, "s.yaml: $.start: expected a time such as 2026-01-02T00:00:00Z"),
        ({"nodes": {"pools": [pool(), pool()]}}, 's.yaml: $.nodes.pools[0].name: Duplicate value: "general"'),
        ({"nodes": {"pools": [pool(count=-1)]}}, "s.yaml: $.nodes.pools[0].count: must be 0 or more"),
        ({"nodes": {"pools": [{"name": "a"}]}}, "s.yaml: $.nodes.pools[0].template.status.allocatable: Required value"),
        (
            {"nodes": {"pools": [{"name": "a", "template": {"status": {"allocatable": {"cpu": "4x"}}}}]}},
            's.yaml: $.nodes.pools[0].template.status.allocatable.cpu: cannot parse quantity "4x"',
        ),
        (
            {"nodes": {"pools": [{"name": "a", "template": {"status": {"allocatabel": {}}}}]}},
            's.yaml: $.nodes.pools[0].template.status.allocatabel: unknown field (did you mean "allocatable"?)',
        ),
        ({"churn": [{"every": "1m"}]}, "s.yaml: $.churn[0]: expected one of delete and roll"),
        ({"failures": [{"nodes": {"pool": "x"}, "at": 0}]}, 's.yaml: $.failures[0].nodes.pool: no pool named "x"'),
        ({"failures": [{"nodes": {}}]}, "s.yaml: $.failures[0]: expected one of at, mtbf and hazard"),
        ({"failures": [{"pods": {}, "fail": 2}]}, "s.yaml: $.failures[0].fail: must be between 0 and 1"),
        ({"descheduler": {}}, "s.yaml: $.descheduler: Required value: one of LowNodeUtilization, HighNodeUtilization"),
        (
            {"descheduler": {"PodLifeTime": {}}},
            "s.yaml: $.descheduler.PodLifeTime.maxPodLifeTimeSeconds: Required value",
        ),
        (
            {"descheduler": {"PodLifetime": {}}},
            's.yaml: $.descheduler.PodLifetime: unknown field (did you mean "PodLifeTime"?)',
        ),
        (
            {"descheduler": {"HighNodeUtilization": {"thresholds": {"cpus": 20}}}},
            's.yaml: $.descheduler.HighNodeUtilization.thresholds: Unsupported value: "cpus"',
        ),
        (
            {"descheduler": {"HighNodeUtilization": {"thresholds": {"cpu": 120}}}},
            "s.yaml: $.descheduler.HighNodeUtilization.thresholds.cpu: must be between 0 and 100",
        ),
        (
            {"descheduler": {"LowNodeUtilization": {"thresholds": {"cpu": 60}, "targetThresholds": {"cpu": 50}}}},
            "s.yaml: $.descheduler.LowNodeUtilization.thresholds.cpu: must not be larger than the target threshold",
        ),
        (
            {"descheduler": {"LowNodeUtilization": {"thresholds": {"cpu": 6}, "targetThresholds": {"memory": 50}}}},
            "s.yaml: $.descheduler.LowNodeUtilization.targetThresholds.cpu: Required value",
        ),
        (
            {"descheduler": {"PodLifeTime": {"maxPodLifeTimeSeconds": 9}, "maxNoOfPodsToEvictTotal": -1}},
            "s.yaml: $.descheduler.maxNoOfPodsToEvictTotal: must be 0 or more",
        ),
        ({"record": {"every": 0}}, "s.yaml: $.record.every: must be greater than 0"),
        ({"nodes": {"trace": {"loader": "x", "path": "y"}}}, "s.yaml: $.nodes.trace: unknown trace loader"),
    ],
)
def test_faults_of_a_scenario_have_file_and_path(fields: dict[str, Any], line: str) -> None:
    assert problems(BATCH, **fields)[0].startswith(line)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"arrivals": {"every": "1m", "at": [1]}}, "$.workloads[0].arrivals: expected one process of at, every"),
        (
            {"arrivals": {"poisson": {"rate": "9"}}},
            "$.workloads[0].arrivals.poisson.rate: expected a rate such as 40/h",
        ),
        ({"arrivals": {"poisson": {"rate": "0/h"}}}, "$.workloads[0].arrivals.poisson.rate: must be greater than 0"),
        ({"arrivals": {"file": "no.csv"}}, "$.workloads[0].arrivals.file: no.csv: No such file or directory"),
        ({"template": {}}, "$.workloads[0]: expected one of manifest, template and trace"),
        ({"manifest": "no.yaml", "template": {}}, "$.workloads[0].manifest: no.yaml: No such file or directory"),
        ({"template": {"kind": "Secret"}}, "$.workloads[0].template: kind 'Secret' is not simulated"),
        ({"template": pod(containers=3)}, "$.workloads[0].template.spec.containers: Expected `array`, got `int`"),
        (
            {"template": pod("2x")},
            '$.workloads[0].template.spec.containers[0].resources.requests.cpu: cannot parse quantity "2x"',
        ),
        (
            {"template": pod(nodeNam="a")},
            '$.workloads[0].template.spec.nodeNam: unknown field (did you mean "nodeName"?)',
        ),
        ({"duration": -5}, "$.workloads[0].duration: must be 0 or more"),
        ({"template": DEPLOYMENT}, "$.workloads[0].duration: pods of a Deployment do not end"),
        ({"restart": {"checkpoint": "1m", "resume": True}}, "$.workloads[0].restart: checkpoint and resume exclude"),
        ({"tenant": {}}, "$.workloads[0].tenant: expected choice or zipf, with names and weights"),
        (
            {"arrivals": {"every": "1m", "from": "2h", "to": "1h"}},
            "$.workloads[0].arrivals.to: must be later than from",
        ),
        ({"name": ""}, "$.workloads[0].name: Required value"),
    ],
)
def test_faults_of_a_workload(changes: dict[str, Any], line: str) -> None:
    assert problems({**BATCH, **changes})[0].startswith(f"s.yaml: {line}")


def test_all_faults_are_listed() -> None:
    assert len(problems({**BATCH, "duration": "x", "startup": "y"}, sede=1)) == 3


def test_a_run_without_an_end_is_refused() -> None:
    assert problems(BATCH, until={"drained": True}) == [
        "s.yaml: $.workloads[0].arrivals: never ends: set to, limit, or until.time"
    ]
    failing = [{"nodes": {}, "mtbf": "1d"}]
    assert problems(until={"drained": True}, failures=failing) == [
        "s.yaml: $.until.time: Required value: failures or churn never end"
    ]
    descheduler = {"PodLifeTime": {"maxPodLifeTimeSeconds": "1d"}}
    assert problems(until={"drained": True}, descheduler=descheduler) == [
        "s.yaml: $.until.time: Required value: the descheduler never ends"
    ]


def test_times_that_run_backwards_and_negative_durations(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,duration\n5,1\n3,1\n")
    (tmp_path / "b.csv").write_text("time,duration\n5,1\n6,-1\n")
    for name, line in (
        ("a", "line 3, column time: 3 is before the previous one, 5"),
        ("b", "line 3, column duration: must be 0 or more"),
    ):
        with pytest.raises(ConfigError, match=line):
            compile_scenario(document({**BATCH, "arrivals": {"file": f"{name}.csv"}}), "s.yaml", tmp_path)


def test_files_are_relative_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}]}\n")
    (tmp_path / "s.yaml").write_text(
        "apiVersion: simulation.stowplan/v1alpha1\nkind: Scenario\nuntil: {time: 1h}\n"
        "workloads: [{name: a, manifest: pod.yaml, arrivals: {at: [0]}}]\n"
    )
    loaded = load_scenario(str(tmp_path / "s.yaml"))
    assert loaded.workloads[0].documents[0]["kind"] == "Pod"
    assert loaded.name == "s"
    assert loaded.digest(1) != loaded.digest(2)


BIG = 10**400
MILLION = "must be at most 1,000,000"


@pytest.mark.parametrize(
    ("churn", "line"),
    [
        ({"roll": {"name": "a", "maxSurge": -1}}, ".roll.maxSurge: expected a number of pods, or a percentage"),
        ({"roll": {"name": "a", "maxUnavailable": "x%"}}, ".roll.maxUnavailable: expected a number of pods, or a"),
        ({"roll": {"name": "a", "maxUnavailable": 0, "maxSurge": "0%"}}, ".roll: maxUnavailable and maxSurge cannot"),
        ({"delete": {"workload": "x", "count": 1}}, '.delete.workload: no workload named "x"'),
    ],
)
def test_churn_that_could_change_nothing_is_refused(churn: dict[str, Any], line: str) -> None:
    (found,) = problems(BATCH, churn=[{"at": "10m", **churn}])
    assert found.startswith(f"s.yaml: $.churn[0]{line}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arrivals", {"every": "1m"}),
        ("replicas", {"at": {"0h": 2}}),
        ("load", {"file": "load.csv"}),
        ("priority", {"choice": {"high": 1}}),
        ("tenant", {"choice": {"a": 1}}),
    ],
)
def test_fields_that_a_trace_determines_are_refused(field: str, value: Any) -> None:
    found = problems({"name": "t", "trace": {"loader": "swf", "path": "x.swf"}, field: value})
    assert f"s.yaml: $.workloads[0].{field}: a trace has its own {field}" in found


@pytest.mark.parametrize(
    ("changes", "path", "problem"),
    [
        ({"duration": BIG}, ".duration", "expected a number of at most 1e+18"),
        ({"duration": float("nan")}, ".duration", "expected a number of at most 1e+18"),
        ({"duration": "9" * 400 + "h"}, ".duration", "expected a time such as 90s"),
        ({"duration": 1e15}, ".duration", "must be at most 1e+11 seconds"),
        (
            {"duration": {"lognormal": {"median": "1m", "sigma": 1e6}}},
            ".duration.lognormal.sigma",
            "must be at most 20",
        ),
        ({"duration": {"pareto": {"min": "1m", "alpha": 1e-9}}}, ".duration.pareto.alpha", "must be at least 0.1"),
        ({"duration": {"weibull": {"scale": 1, "shape": 1e-9}}}, ".duration.weibull.shape", "must be at least 0.01"),
        ({"duration": {"uniform": [0, 1e12]}}, ".duration.uniform", "must be at most 1e+11 seconds"),
        ({"startup": -5}, ".startup", "must be 0 or more"),
        ({"priority": {"choice": {"a": 3, "b": -1}}}, ".priority.choice.b", "expected a weight of 0 or more"),
        ({"tenant": {"zipf": {"names": ["a", "b"], "s": -1e9}}}, ".tenant.zipf.s", "must be from -100 to 100"),
        ({"arrivals": {"every": 1e-9}}, ".arrivals.every", "must be at least 1ms"),
        ({"arrivals": {"every": "1m", "batch": 1e15}}, ".arrivals.batch", "must be from 0 to 1,000,000"),
        ({"arrivals": {"bursts": {"every": "1m", "size": 1e15}}}, ".arrivals.bursts.size", "must be from 0 to"),
        ({"arrivals": {"closed": {"users": 10**15}}}, ".arrivals.closed.users", MILLION),
    ],
)
def test_absurd_numbers_of_a_workload(changes: dict[str, Any], path: str, problem: str) -> None:
    assert problems({**BATCH, **changes})[0].startswith(f"s.yaml: $.workloads[0]{path}: {problem}")


def test_absurd_numbers_of_nodes_and_replicas() -> None:
    assert problems(BATCH, nodes={"pools": [pool(count=10**15)]})[0].endswith(f"$.nodes.pools[0].count: {MILLION}")
    prices = {"nodes": {"pools": [{**pool(), "price": float("inf")}]}}
    assert problems(BATCH, **prices)[0].endswith("$.nodes.pools[0].price: expected a number of at most 1e+18")
    web = {"name": "w", "template": DEPLOYMENT, "replicas": {"at": {"0h": 1, "1h": 10**15}, "ramp": "1m"}}
    assert problems(web)[0].endswith(f"$.workloads[0].replicas.at.1h: {MILLION}")


def test_a_draw_of_objects_is_bounded() -> None:
    drawn = quantity({"pareto": {"min": 1000, "alpha": 0.1}}, "$", Problems(), count_of)
    assert max(drawn.draw_count(RandomStreams(1).of("x", str(number))) for number in range(99)) == 1_000_000


def test_a_column_of_a_file_that_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a\n" + '"' + "x" * 200_000)
    scenario = document({**BATCH, "duration": {"empirical": {"file": "d.csv"}}})
    with pytest.raises(ConfigError, match=r"\$.workloads\[0\].duration.empirical.file: .*d.csv: field larger"):
        compile_scenario(scenario, "s.yaml", tmp_path)


def test_names_that_are_given_twice() -> None:
    named = {**pod(), "metadata": {"name": "same"}}
    arriving = {**BATCH, "name": "c", "template": named}
    found = problems({"name": "a", "template": named}, {"name": "b", "template": named}, arriving)
    assert found == ["s.yaml: $.workloads[1].template.metadata.name: another object is Pod default/same"]


def test_names_that_a_manifest_has_twice(tmp_path: Path) -> None:
    text = json.dumps({**pod(), "metadata": {"name": "same"}})
    (tmp_path / "two.yaml").write_text(f"{text}\n---\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        compile_scenario(document({**BATCH, "template": {}, "manifest": "two.yaml"}), "s.yaml", tmp_path)
    line = "s.yaml: $.workloads[0].manifest: two.yaml: $.metadata.name: another object is Pod default/same"
    assert list(caught.value.problems) == [line]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("0,60\n\n1,soon\n2,x\n", "line 4, column duration: expected a time such as 90s, 10m, 8h30m or 2d"),
        ("0,60\n1,-5\n", "line 3, column duration: must be 0 or more"),
        ("0,60\n\n5,60\n4,60\n", "line 5, column time: 4 is before the previous one, 5"),
        ("0,60\nsoon,60\n", "line 3, column time: expected a time such as 90s"),
        ("-5,60\n", "line 2, column time: must be 0 or more"),
    ],
)
def test_a_bad_row_of_an_arrivals_file(tmp_path: Path, rows: str, problem: str) -> None:
    (tmp_path / "a.csv").write_text(f"time,duration\n{rows}")
    with pytest.raises(ConfigError) as caught:
        compile_scenario(document({**BATCH, "duration": None, "arrivals": {"file": "a.csv"}}), "s.yaml", tmp_path)
    (found,) = caught.value.problems
    assert found.startswith(f"s.yaml: $.workloads[0].arrivals.file: {tmp_path / 'a.csv'}: {problem}")


@pytest.mark.parametrize(
    "template",
    [
        {**pod(), "metadata": None},
        {**pod(), "metadata": {"name": None, "namespace": None}},
        {**workload("Job", "a"), "spec": {**workload("Job", "a")["spec"], "selector": None}},
    ],
)
def test_fields_that_are_null_are_absent(template: dict[str, Any]) -> None:
    (found,) = compile_scenario(document({**BATCH, "template": template}), "s.yaml", Path()).workloads
    assert None not in [*found.documents[0].values(), *found.documents[0]["metadata"].values()]


def test_a_kind_that_is_no_text() -> None:
    found = problems({**BATCH, "template": {"kind": ["Pod"]}})
    assert found == ["s.yaml: $.workloads[0].template: kind ['Pod'] is not simulated"]


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufefftime,duration\n1,60\n", encoding="utf-8")
    (found,) = compile_scenario(document({**BATCH, "arrivals": {"file": "a.csv"}}), "s.yaml", tmp_path).workloads
    assert found.arrivals is not None
    assert list(found.arrivals.draw(RandomStreams(0), "a")) == [(1.0, 60.0)]
