from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan import CycleState, Plugin, Pod, Status, reject
from stowplan.simulator.report.recorder import workload_of

VIP = {"priorityClassName": "vip"}
CLASS = make("PriorityClass", "vip", value=1000)


def test_the_last_attempt_of_each_pod() -> None:
    run = Run(node("n"), pod("fits", **asking("1")), pod("big", **asking("9")))
    fits, big = run.story("fits"), run.story("big")
    assert (fits.attempts, fits.node_name, fits.message, fits.diagnosis) == (1, "n", "", None)
    assert (fits.feasible, fits.evaluated) == (1, 1)
    assert big.node_name == ""
    assert big.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert big.diagnosis is not None
    assert run.recorder.bindings == 1
    assert run.recorder.decisions == fits.attempts + big.attempts


def test_evictions_with_the_workloads_of_both() -> None:
    low = workload("Job", "low", pod=asking("3"))
    run = Run(node("n"), low)
    run.simulation.api_server.put(run.simulation.controllers.admission.admit(CLASS))
    high = workload("Deployment", "high", pod={**asking("3"), **VIP})
    run.simulation.api_server.put(run.simulation.controllers.admission.admit(high))
    run.simulation.run()
    (eviction,) = run.recorder.evictions
    assert (eviction.preemptor_workload, eviction.victim_workload) == ("Deployment/high", "Job/low")
    assert (eviction.preemptor.priority, eviction.victim.priority, eviction.node_name) == (1000, 0, "n")


def test_victims_of_a_group_left_their_own_nodes() -> None:
    run = Run(node("n"), pod("p", **asking("1")))
    info = run.simulation.engine.cluster.nodes.get("n")
    assert info is not None
    (running,) = info.pods.values()
    run.recorder.victim_evicted(running, running, "cluster")
    assert [each.node_name for each in run.recorder.evictions] == ["n"]


def test_a_binding_that_fails_is_what_counts() -> None:
    class Reluctant(Plugin):
        name = "Reluctant"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
            return reject("not this one")

    story = Run(node("n"), pod("p"), plugins={"Reluctant": Reluctant}).story("p")
    assert (story.node_name, story.message) == ("", "not this one")


def test_the_workload_is_the_one_on_top() -> None:
    run = Run(
        node("n"),
        workload("Deployment", "web", replicas=1),
        make("CronJob", "nightly", spec={"jobTemplate": {"spec": {"template": {"spec": asking("1")}}}}),
        pod("bare"),
        pod("other", "n", owner={"kind": "RayCluster", "name": "ray", "uid": "x"}),
    )
    world = run.simulation.api_server
    found = {workload_of(world, each) for each in world.all(type(make("Pod", "")))}
    assert found == {"Deployment/web", "CronJob/nightly", "", "RayCluster/ray"}


def test_without_a_world_nobody_owns_anything() -> None:
    run = Run(node("n"), CLASS, pod("p", "n", **asking("4")), pod("q", **asking("4"), **VIP))
    (eviction,) = run.recorder.evictions
    assert eviction.victim.key == "default/p"
    assert (eviction.preemptor_workload, eviction.victim_workload) == ("", "")
