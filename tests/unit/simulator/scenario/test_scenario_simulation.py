from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import document, load, pod, pool, simulate, workload

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.scenario import LoadedScenario, compile_scenario


def arrivals(name: str = "batch", at: tuple[Any, ...] = (0,), **fields: Any) -> dict[str, Any]:
    return {"name": name, "template": pod(), "arrivals": {"at": list(at)}, **fields}


def random_pods(name: str, cpu: str) -> dict[str, Any]:
    poisson = {"poisson": {"rate": "2/m"}}
    return {"name": name, "template": pod(cpu), "arrivals": poisson, "duration": {"exponential": {"mean": "3m"}}}


def web_with(replicas: dict[str, Any]) -> dict[str, Any]:
    return {"name": "web", "template": workload("Deployment", "web", "100m"), "replicas": replicas}


def test_pods_arrive_run_and_end() -> None:
    _, diary = simulate(load(arrivals(at=("10s", "1m"), duration="2m", startup="5s")))
    assert diary.lines == [
        (10, "created", "batch-1"),
        (10, "bound", "batch-1"),
        (15, "running", "batch-1"),
        (60, "created", "batch-2"),
        (60, "bound", "batch-2"),
        (65, "running", "batch-2"),
        (135, "succeeded", "batch-1"),
        (185, "succeeded", "batch-2"),
    ]


def test_room_that_appears_at_the_moment_of_an_arrival_is_used() -> None:
    """Completions come before arrivals at the same time."""
    given = load({**arrivals(at=(0, "1m"), duration="1m"), "template": pod("4")})
    _, diary = simulate(given)
    assert diary.of("bound") == [(0, "bound", "batch-1"), (60, "bound", "batch-2")]


def test_durations_of_annotations() -> None:
    kwok = pod()
    kwok["metadata"] = {"annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "90s"}}
    own = pod()
    own["metadata"] = {
        "annotations": {"simulation.stowplan/duration": "2m", "pod-complete.stage.kwok.x-k8s.io/delay": "5s"}
    }
    jitter = pod()
    jitter["metadata"] = {
        "annotations": {
            "pod-complete.stage.kwok.x-k8s.io/delay": "10s",
            "pod-complete.stage.kwok.x-k8s.io/jitter-delay": "20s",
        }
    }
    given = load(*({"name": f"w{n}", "template": each} for n, each in enumerate((kwok, own, jitter))))
    for item, each in zip(given.workloads, (kwok, own, jitter), strict=True):
        each["metadata"]["name"] = item.name
    given = load(*({"name": f"w{n}", "template": each} for n, each in enumerate((kwok, own, jitter))))
    _, diary = simulate(given)
    ends = {name: time for time, _, name in diary.of("succeeded")}
    assert ends["w0"] == 90
    assert ends["w1"] == 120
    assert 10 <= ends["w2"] < 20


def test_a_pod_past_its_deadline_fails() -> None:
    _, diary = simulate(load({**arrivals(duration="10m"), "template": pod(activeDeadlineSeconds=60)}))
    assert diary.of("failed", "succeeded") == [(60, "failed", "batch-1")]


def test_a_job_with_completions_gets_new_pods_and_is_removed_at_the_end() -> None:
    job = workload("Job", "train", parallelism=2, completions=3)
    simulation, diary = simulate(load({**arrivals("train", duration="1m"), "template": job}))
    assert [time for time, _, _ in diary.of("succeeded")] == [60, 60, 120]
    assert simulation.api_server.count(api.Job) == 0
    assert simulation.kubelet.lives == {}


def test_an_indexed_job_completes_each_index() -> None:
    job = workload("Job", "train", parallelism=2, completions=3, completionMode="Indexed")
    simulation, diary = simulate(load({**arrivals("train", duration="1m"), "template": job}))
    assert len(diary.of("succeeded")) == 3
    assert simulation.api_server.count(api.Job) == 0


def test_pods_of_a_job_that_fail_are_replaced_until_the_backoff_limit() -> None:
    job = workload("Job", "train", backoffLimit=2)
    failing = [{"pods": {"workload": "train"}, "fail": 1.0}]
    simulation, diary = simulate(load({**arrivals("train", duration="1m"), "template": job}, failures=failing))
    assert len(diary.of("failed")) == 1  # The pods that replace it do not fail again.
    assert len(diary.of("succeeded")) == 1
    assert simulation.api_server.count(api.Job) == 0


def test_closed_users_submit_after_the_end_of_the_last_pod() -> None:
    closed = {"closed": {"users": 2, "think": "1m"}, "to": "5m"}
    _, diary = simulate(load({"name": "user", "template": pod(), "arrivals": closed, "duration": "1m"}))
    assert [time for time, _, _ in diary.of("created")] == [60, 60, 180, 180]


def test_bursts_and_limits() -> None:
    bursts = {"bursts": {"every": "10m", "size": 3}, "limit": 7}
    _, diary = simulate(load({"name": "b", "template": pod("100m"), "arrivals": bursts, "duration": "1m"}))
    assert [time for time, _, _ in diary.of("created")] == [0, 0, 0, 600, 600, 600, 1200]


def test_replicas_follow_the_schedule_up_and_down() -> None:
    web = {
        "name": "web",
        "template": workload("Deployment", "web", "100m"),
        "replicas": {"at": {"0s": 2, "10m": 5, "20m": 1}},
    }
    simulation, _ = simulate(load(web), until=599)
    assert simulation.kubelet.running == 2
    simulation.run_until(700)
    assert simulation.kubelet.running == 5
    simulation.run_until(1300)
    assert simulation.kubelet.running == 1


def test_a_ramp_changes_one_replica_at_a_time() -> None:
    web = {
        "name": "web",
        "template": workload("Deployment", "web", "100m"),
        "replicas": {"at": {"0s": 2, "10m": 6}, "ramp": "4m"},
    }
    simulation, _ = simulate(load(web), until=600 + 130)
    assert simulation.kubelet.running == 4


def test_a_rolling_update_replaces_all_pods_within_its_limits() -> None:
    web = {"name": "web", "template": workload("Deployment", "web", "1", replicas=4), "startup": "10s"}
    roll = {"at": "10m", "roll": {"name": "web", "maxSurge": 1, "maxUnavailable": 0}}
    scenario = load(web, churn=[roll], nodes={"pools": [pool(cpu="8")]})
    simulation, diary = simulate(scenario)
    assert simulation.kubelet.running == 4
    assert len(diary.of("deleted")) == 4
    alive = 0
    for time, what, _ in diary.lines:
        alive += {"created": 1, "deleted": -1}.get(what, 0)
        assert alive <= 5
        if time > 601:
            assert alive >= 4


def test_a_rolling_update_of_no_deployment_is_one_line() -> None:
    scenario = load(churn=[{"at": "10m", "roll": {"name": "wep"}}])
    with pytest.raises(InputError) as caught:
        simulate(scenario)
    assert str(caught.value) == "scenario.yaml: $.churn[0].roll: there is no Deployment default/wep at 10m00s"


def test_a_share_of_pods_is_deleted_again_and_again() -> None:
    web = {"name": "web", "template": workload("Deployment", "web", "100m", replicas=4)}
    churn = [{"every": "10m", "to": "25m", "delete": {"workload": "web", "share": 0.5}}]
    simulation, diary = simulate(load(web, churn=churn))
    assert [time for time, _, _ in diary.of("evicted")] == [600, 600, 1200, 1200]
    assert simulation.kubelet.running == 4


def test_a_run_in_two_parts_equals_the_run() -> None:
    given = {
        "name": "b",
        "template": pod(),
        "arrivals": {"poisson": {"rate": "2/m"}},
        "duration": {"exponential": {"mean": "3m"}},
    }
    _, whole = simulate(load(given))
    simulation, parts = simulate(load(given), until=1234.5)
    simulation.run_until(3000)
    simulation.run_until(1e9)
    assert parts.lines == whole.lines
    assert len(whole.lines) > 300


def test_a_further_workload_does_not_change_the_draws_of_another() -> None:
    first = {
        "name": "a",
        "template": pod("10m"),
        "arrivals": {"poisson": {"rate": "2/m"}},
        "duration": {"exponential": {"mean": "3m"}},
    }
    _, alone = simulate(load(first))
    _, both = simulate(load({**first, "name": "b"}, first))
    assert [line for line in both.lines if line[2].startswith("a-")] == alone.lines


def test_the_run_ends_when_the_cluster_is_drained() -> None:
    scenario = load(arrivals(at=("1m",), duration="2m"), until={"drained": True})
    simulation, _ = simulate(scenario)
    assert simulation.now == 180
    assert simulation.finished


def test_the_run_ends_some_time_after_the_last_arrival() -> None:
    simulation, _ = simulate(load(arrivals(at=("1m", "2m"), duration="1m"), until={"arrivals": "10m"}))
    assert simulation.now == 720


def test_a_run_ends_when_the_pods_that_are_left_fit_nowhere() -> None:
    scenario = load({**arrivals(duration="2m"), "template": pod("64")}, until={"drained": True})
    simulation, _ = simulate(scenario)
    assert simulation.finished
    assert simulation.now < 600


def test_time_of_the_scheduler() -> None:
    _, diary = simulate(load(arrivals(at=(0, 0, 0)), cycle="2s"))
    assert [time for time, _, _ in diary.of("bound")] == [0, 2, 4]


def names_of(simulation: Any, kind: type[Any]) -> list[str]:
    return [item.metadata.name for item in simulation.api_server.all(kind)]


def test_workloads_with_equal_names_in_their_templates_lose_no_pods() -> None:
    named = {**pod(), "metadata": {"name": "same"}}
    workloads = [{**arrivals(name, at=(0, 60)), "template": named} for name in ("a", "b")]
    simulation, diary = simulate(load(*workloads))
    assert len(diary.of("created")) == len(diary.of("bound")) == 4
    assert names_of(simulation, api.Pod) == ["same-1", "same-1-2", "same-2", "same-2-3"]
    assert {life.workload for life in simulation.kubelet.lives.values()} == {"a", "b"}


def test_jobs_of_workloads_with_equal_names_run_apart() -> None:
    job = workload("Job", "same", "100m", parallelism=2, completions=2)
    workloads = [
        {**arrivals("a", duration="5m"), "template": job, "gang": True},
        {**arrivals("b", duration="9m"), "template": job, "gang": True},
    ]
    simulation, diary = simulate(load(*workloads), until=1)
    assert names_of(simulation, api.Job) == names_of(simulation, api.PodGroup) == ["same-1", "same-1-2"]
    simulation.run_until(1000)
    assert [time for time, _, _ in diary.of("succeeded")] == [300, 300, 540, 540]


def test_a_name_is_given_again_when_its_pod_is_gone() -> None:
    named = {**pod(), "metadata": {"name": "same"}}
    workloads = [
        {**arrivals("a", at=(0,), duration="1m"), "template": named},
        {**arrivals("b", at=("2m",), duration="1m"), "template": named},
    ]
    _, diary = simulate(load(*workloads))
    assert [name for _, _, name in diary.of("succeeded")] == ["same-1", "same-1"]


def test_a_name_with_the_time_is_unique_within_a_batch() -> None:
    named = {**pod("100m"), "metadata": {"name": "at-$at"}}
    simulation, _ = simulate(load({**arrivals(), "template": named, "arrivals": {"at": [5], "batch": 3}}))
    assert names_of(simulation, api.Pod) == ["at-5", "at-5-2", "at-5-3"]


@pytest.mark.parametrize("mark", ["$n", "${n}"])
def test_the_number_of_an_arrival_in_name_and_labels(mark: str) -> None:
    named = {**pod("100m"), "metadata": {"name": f"x{mark}", "labels": {"number": mark}}}
    simulation, _ = simulate(load({**arrivals(at=(0, 0)), "template": named}))
    found = {item.metadata.name: item.metadata.labels["number"] for item in simulation.api_server.all(api.Pod)}
    assert found == {"x1": "1", "x2": "2"}


def test_workloads_without_names_get_those_of_the_scenario() -> None:
    simulation, _ = simulate(load({"name": "a", "template": pod()}, {"name": "b", "template": pod()}))
    assert names_of(simulation, api.Pod) == ["a", "b"]


def test_a_pod_that_the_manifests_have_too_is_an_error(tmp_path: Path) -> None:
    named = {**pod(), "metadata": {"name": "same"}}
    (tmp_path / "base.yaml").write_text(json.dumps(named))
    given = document({"name": "a", "template": named}, manifests=["base.yaml"])
    with pytest.raises(InputError, match=r"^s.yaml: \$.workloads\[0\]: Pod default/same: .* already exists$"):
        simulate(compile_scenario(given, "s.yaml", tmp_path))


def test_pods_that_are_created_again_do_not_take_names_of_others() -> None:
    """The second pod has the name that the first one would get after its eviction, without its own number."""
    named = {**pod("100m"), "metadata": {"name": "x-r$n"}}
    given = {**arrivals(at=(0, 0), duration="30m", resubmit=True), "template": named}
    simulation, _ = simulate(load(given, churn=[{"at": "1m", "delete": {"workload": "batch", "count": 1}}]), until=90)
    assert sorted(names_of(simulation, api.Pod)) == ["x-r1-r1", "x-r2"]
    assert sorted(life.job for life in simulation.kubelet.lives.values()) == ["default/x-r1", "default/x-r2"]


def test_a_user_waits_for_all_objects_of_an_arrival(tmp_path: Path) -> None:
    pods = [{**pod("100m"), "metadata": {"name": name}} for name in ("a", "b")]
    (tmp_path / "two.yaml").write_text("\n---\n".join(map(json.dumps, pods)))
    closed = {"name": "c", "manifest": "two.yaml", "duration": "1m", "arrivals": {"closed": {"users": 1, "think": 60}}}
    _, diary = simulate(compile_scenario(document(closed, until={"time": "9m30s"}), "s.yaml", tmp_path))
    assert [time for time, _, _ in diary.of("created")] == [time for time in range(60, 541, 120) for _ in "ab"]


def from_file(folder: Path, rows: str, **fields: Any) -> LoadedScenario:
    (folder / "a.csv").write_text(f"time,duration\n{rows}")
    given = {"name": "batch", "template": pod("100m"), "arrivals": {"file": "a.csv"}, **fields}
    return compile_scenario(document(given), "s.yaml", folder)


def test_an_empty_duration_of_a_file_is_that_of_the_template(tmp_path: Path) -> None:
    annotated = pod("100m")
    annotated["metadata"] = {"annotations": {"simulation.stowplan/duration": "7m"}}
    rows = "0,60\n1, \n2\n3,2m\n"
    _, diary = simulate(from_file(tmp_path, rows))
    assert diary.of("succeeded") == [(60, "succeeded", "batch-1"), (123, "succeeded", "batch-4")]
    _, diary = simulate(from_file(tmp_path, rows, template=annotated))
    assert [time for time, _, _ in diary.of("succeeded")] == [60, 123, 421, 422]
    _, diary = simulate(from_file(tmp_path, rows, duration="5m"))
    assert [time for time, _, _ in diary.of("succeeded")] == [300, 301, 302, 303]


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"pods": "2"}},
}


def test_nothing_is_kept_for_pods_that_a_quota_forbids(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(json.dumps(QUOTA))
    given = document(arrivals(at=tuple(range(9)), duration="1m"), manifests=["quota.yaml"])
    simulation, diary = simulate(compile_scenario(given, "s.yaml", tmp_path), until=30)
    assert len(diary.of("created")) == 2
    assert simulation.kubelet._registered == {}
    assert simulation.simulation.controllers.not_created == []


def test_a_user_tries_again_when_a_quota_forbids_the_pod(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(json.dumps(QUOTA))
    closed = {"name": "c", "template": pod("100m"), "arrivals": {"closed": {"users": 3, "think": "10s"}}}
    given = document({**closed, "duration": "1m"}, manifests=["quota.yaml"], until={"time": "80s"})
    _, diary = simulate(compile_scenario(given, "s.yaml", tmp_path))
    assert [time for time, _, _ in diary.of("created")] == [10, 10, 76, 80]


def test_nothing_is_kept_for_jobs_that_are_gone() -> None:
    job = workload("Job", "train", "100m", parallelism=2, completions=2)
    given = {**arrivals("train", at=(0, 100, 200), duration={"uniform": ["5s", "15s"]}), "template": job}
    simulation, diary = simulate(load(given, ttl="20s", grace="3s"))
    assert len(diary.of("succeeded")) == 6
    assert simulation.api_server._dependents == {}
