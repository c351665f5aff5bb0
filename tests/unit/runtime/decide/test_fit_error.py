from tests.builders import World, fields, node, node_affinity, pod

from stowplan.runtime.decide.fit_error import fit_error, histogram, reason_counts


def test_histogram_is_sorted_by_its_text() -> None:
    assert histogram({"x": 10, "y": 2, "a": 2}) == "10 x, 2 a, 2 y"
    assert histogram({}) == ""


def test_reasons_are_counted_once_for_each_node() -> None:
    world = World([node(f"n{i}", cpu=1, unschedulable=i < 2) for i in range(12)])
    diagnosis = world.diagnosis(pod("p", requests={"cpu": 2, "memory": "9Gi"}))
    assert reason_counts(diagnosis) == {
        "node(s) were unschedulable": 2,
        "Insufficient cpu": 10,
        "Insufficient memory": 10,
    }
    assert fit_error(diagnosis) == (
        "0/12 nodes are available: 10 Insufficient cpu, 10 Insufficient memory, 2 node(s) were unschedulable."
    )


def test_what_post_filters_say_follows() -> None:
    diagnosis = World([node("n", unschedulable=True)]).diagnosis(pod("p"))
    assert fit_error(diagnosis, "no luck") == "0/1 nodes are available: 1 node(s) were unschedulable. no luck"


def test_a_rejection_of_the_pod_stands_for_all_nodes() -> None:
    terms = node_affinity({"matchFields": [f for name in "nm" for f in fields(name)["matchFields"]]})
    diagnosis = World([node("n"), node("m")]).diagnosis(pod("p", affinity=terms))
    assert fit_error(diagnosis) == "0/2 nodes are available: pod affinity terms conflict."


def test_nodes_that_were_left_out_share_a_reason() -> None:
    world = World([node("n", unschedulable=True), node("m"), node("o")])
    diagnosis = world.diagnosis(pod("p", affinity=node_affinity(fields("n"))))
    assert reason_counts(diagnosis) == {
        "node(s) were unschedulable": 1,
        "node(s) didn't satisfy plugin(s) [NodeAffinity]": 2,
    }


def test_names_of_nodes_that_do_not_exist() -> None:
    diagnosis = World([node("n")]).diagnosis(pod("p", affinity=node_affinity(fields("gone"))))
    assert fit_error(diagnosis) == "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
