import pytest
from tests.builders import World, pod

from stowplan.queue.nominator import MAX_LOGGED_CHANGES, Nominator


def names(nominator: Nominator, node: str) -> list[str]:
    return [pod.name for pod in nominator.on_node(node)]


def test_by_status_or_by_decision() -> None:
    world, nominator = World(), Nominator()
    by_status, decided = world.pod(pod("a", nominated="n")), world.pod(pod("b", nominated="n"))
    nominator.add(by_status)
    nominator.add(decided, "m")
    assert (names(nominator, "n"), names(nominator, "m")) == (["a"], ["b"])
    assert (nominator.node_of(by_status), nominator.node_of(decided)) == ("n", "m")


def test_a_pod_is_nominated_to_one_node_at_most() -> None:
    world, nominator = World(), Nominator()
    made = world.pod(pod("a"))
    nominator.add(made, "n")
    nominator.add(made, "m")
    assert nominator.by_node.keys() == {"m"}
    nominator.add(made)
    assert nominator.by_node == {}
    assert nominator.node_of(made) == ""


def test_pods_that_run_are_not_nominated() -> None:
    nominator = Nominator()
    nominator.add(World().pod(pod("a", "n", nominated="n")))
    assert not nominator.by_node


def test_removing() -> None:
    world, nominator = World(), Nominator()
    first, second = world.pod(pod("a", nominated="n")), world.pod(pod("b", nominated="n"))
    nominator.add(first)
    nominator.add(second)
    nominator.remove(first)
    nominator.remove(first)
    assert names(nominator, "n") == ["b"]
    nominator.remove(second)
    assert nominator.by_node == {}
    assert list(nominator.on_node("n")) == []


@pytest.mark.parametrize(
    ("decided", "old", "new", "node"),
    [
        ("", "", "n", "n"),
        ("", "n", "m", "m"),
        ("", "n", "", ""),
        ("", "", "", ""),
        ("d", "", "", "d"),
        ("d", "", "n", "n"),
        ("d", "n", "", ""),
        ("d", "n", "n", "n"),
    ],
)
def test_updating(decided: str, old: str, new: str, node: str) -> None:
    world, nominator = World(), Nominator()
    before, after = (world.pod(pod("a", nominated=name)) for name in (old, new))
    nominator.add(before, decided)
    nominator.update(before, after)
    assert nominator.node_of(after) == node
    assert nominator.by_node == ({node: {after.uid: after}} if node else {})


def test_nodes_whose_nominations_changed_are_known_for_a_while() -> None:
    world, nominator = World(), Nominator()
    first, later = world.pod(pod("a")), world.pod(pod("b"))
    nominator.add(first, "n1")
    before = nominator.version
    nominator.add(later, "n2")
    nominator.remove(first)
    assert nominator.changed_since(before) == ["n2", "n1"]
    assert nominator.changed_since(nominator.version) == []
    for _ in range(MAX_LOGGED_CHANGES):
        latest = nominator.version
        nominator.add(later, "n3")
    assert nominator.changed_since(latest) == ["n3", "n3"]
    assert nominator.changed_since(before) is None
