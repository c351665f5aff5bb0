"""What-ifs, one inside the other, over any nodes."""

from tests.builders import HOSTNAME, Json, World, container, node, pod

from stowplan.api.selectors import selector_from_map
from stowplan.cache import Clause, PodSelector
from stowplan.cache.ports import ANY_IP, HostPort
from stowplan.framework import NodeInfo

WEB = HostPort("TCP", 80, ANY_IP)


def web(name: str, on: str = "", **more: object) -> Json:
    containers = [container(cpu=1, ports=[{"hostPort": 80, "containerPort": 80}])]
    return pod(name, on, labels={"app": "a"}, containers=containers, **more)


def setting() -> tuple[World, NodeInfo, NodeInfo]:
    world = World([node("n"), node("m")], [web("p", "n"), web("q", "n"), pod("r", "m")])
    n, m = world.cluster.nodes.get("n"), world.cluster.nodes.get("m")
    assert n is not None
    assert m is not None
    return world, n, m


def test_columns_counts_and_ports_follow() -> None:
    world, n, m = setting()
    cluster = world.cluster
    counts = cluster.counts_for(PodSelector((Clause(None, selector_from_map({"app": "a"})),), terminating=True))
    domains = counts.by_domain(cluster.nodes.label(HOSTNAME))
    cpu = cluster.nodes.requested["cpu"].values
    with cluster.what_if() as journal:
        journal.remove(n.pods["default/p"], n)
        journal.add(world.pod(web("new")), m)
        assert journal.active
        assert ([cpu[0], cpu[1]], counts.array[:2].tolist()) == ([1000, 1000], [1, 1])
        assert (domains.of(0), domains.of(1)) == (1, 1)
        assert cluster.ports.conflicts(WEB, m.slot)
        assert not cluster.ports.conflicts(WEB, n.slot), "the dry run does not count holders"
        assert (list(n.pods), list(m.pods)) == (["default/q"], ["default/r", "default/new"])
    assert not cluster.journal.active
    assert ([cpu[0], cpu[1]], counts.array[:2].tolist()) == ([2000, 0], [2, 0])
    assert (domains.of(0), domains.of(1)) == (2, 0)
    assert cluster.ports.conflicts(WEB, n.slot)
    assert not cluster.ports.conflicts(WEB, m.slot)
    assert (list(n.pods), list(m.pods)) == (["default/p", "default/q"], ["default/r"])


def test_inner_what_ifs_roll_back_to_their_own_beginning() -> None:
    world, n, _ = setting()
    p, q = n.pods.values()
    with world.cluster.what_if() as outer:
        outer.remove(p, n)
        with world.cluster.what_if() as inner:
            inner.remove(q, n)
            inner.add(p, n)
            assert list(n.pods) == ["default/p"]
        assert list(n.pods) == ["default/q"]
    assert list(n.pods) == ["default/p", "default/q"]


def test_putting_back_whom_one_took_away_keeps_the_order_in_the_end() -> None:
    world, n, _ = setting()
    p, q = n.pods.values()
    with world.cluster.what_if() as journal:
        for victim in (p, q):
            journal.remove(victim, n)
        for survivor in (q, p):
            journal.add(survivor, n)
        assert list(n.pods) == ["default/q", "default/p"]
    assert list(n.pods) == ["default/p", "default/q"]


def test_nothing_is_logged() -> None:
    world, n, _ = setting()
    log, position = world.cluster.nodes.log, world.cluster.nodes.log.position
    with world.cluster.what_if() as journal:
        journal.remove(n.pods["default/p"], n)
    assert log.position == position


def test_terminating_pods_count_in_a_what_if_for_selectors_that_leave_them_out() -> None:
    world, n, _ = setting()
    selector = PodSelector((Clause(None, selector_from_map({"app": "a"})),), terminating=False)
    counts = world.cluster.counts_for(selector)
    leaving = web("leaving", "n", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    gone = world.add_pod(leaving)
    assert counts.array[n.slot] == 2
    with world.cluster.what_if() as journal:
        journal.remove(gone, n)
        assert counts.array[n.slot] == 1
    assert counts.array[n.slot] == 2


def test_counts_that_begin_during_a_what_if_follow_it() -> None:
    world, n, m = setting()
    selector = PodSelector((Clause(None, selector_from_map({"app": "a"})),), terminating=True)
    with world.cluster.what_if() as journal:
        journal.remove(n.pods["default/p"], n)
        journal.add(world.pod(web("new")), m)
        counts = world.cluster.counts_for(selector)
        assert counts.array[:2].tolist() == [1, 1]
    assert counts.array[:2].tolist() == [2, 0]


def test_rolled_back_even_if_something_breaks() -> None:
    world, n, _ = setting()
    try:
        with world.cluster.what_if() as journal:
            journal.remove(n.pods["default/p"], n)
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert len(n.pods) == 2
