"""Every rule goes red when it is broken, and says which one it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builders import HOSTNAME, away, container, node, pod, term
from tests.builders.engine_host import Host
from tests.extenders import FakeExtender
from tests.unit.engine.recorder import Recorded

from stowplan.engine.invariants import InvariantError, check, overlooked
from stowplan.engine.state import PendingPod
from stowplan.framework import Bind, CycleState, NodeInfo, reject, wait
from stowplan.framework.extender import CallExtender, Filtered
from stowplan.runtime import Decision

PORT = container(cpu=1, ports=[{"hostPort": 80, "containerPort": 80}])
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}


def full_house() -> Host:
    """A pod in every place."""
    permits = {"permit": lambda asked: wait(60) if asked.name == "held" else None}
    host = Recorded(node("a", cpu=4, extra={"example.com/gpu": "1"}), answers=permits)
    host.put(pod("runs", "a", labels={"app": "a"}, containers=[PORT], volumes=[CLAIM]))
    host.put(pod("held", labels={"app": "a"}, requests={"cpu": 1}, affinity=away(term(HOSTNAME, "none"))))
    host.put(pod("big", requests={"cpu": 9}))
    host.put(pod("nominee", nodeSelector={"no": "node"}, preemptionPolicy="Never", nominated="a"))
    host.schedule()
    host.put(pod("bound"))
    host.schedule(Bind)
    host.put(pod("gated", schedulingGates=[{"name": "g"}]), pod("ready"))
    assert check(host.engine) == []
    return host


def uid(name: str) -> str:
    return f"default/{name}"


def slot(host: Host) -> int:
    return host.engine.cluster.nodes.slot_of["a"]


def info(host: Host) -> NodeInfo:
    found = host.engine.cluster.nodes.get("a")
    assert found is not None
    return found


def lose_unit(host: Host) -> None:
    unit = host.unit("ready")
    unit.sub_queue.discard(unit)


def queue_twice(host: Host) -> None:
    host.state.queue._active.push(host.unit("big"))


def renew(host: Host) -> None:
    host.state.pending[uid("ready")] = PendingPod(host.engine.cluster.pod(host.pod("ready")), host.pod("ready"))


def nobody_rejects(host: Host) -> None:
    host.unit("big").unschedulable_plugins = frozenset()


def forget_assumed(host: Host) -> None:
    host.engine.cluster.forget(host.engine.cluster.pods[uid("bound")])


def miscount_terms(host: Host) -> None:
    template = host.engine.cluster.pods[uid("held")].template
    host.engine.cluster.footprint(template).terms[0].add(slot(host), 1)


def nominate(host: Host, name: str) -> None:
    known = host.state.pending.get(uid(name))
    host.state.nominator.by_node["a"][uid(name)] = known.pod if known else host.engine.cluster.pods[uid(name)]


SABOTAGE: dict[str, Callable[[Host], object]] = {
    "the queue counts 4 pods and holds 3": lose_unit,
    "pod default/big is queued twice: active and unschedulable": queue_twice,
    "pod default/ready is active, though not pending": lambda host: host.state.pending.pop(uid("ready")),
    "pod default/ready is active in a version that is out of date": renew,
    "pod default/big is unschedulable and in flight": lambda host: host.state.queue._in_flight.enter(host.unit("big")),
    "pod default/ready is active and on its way to a node": lambda host: host.state.attempts.update(
        {uid("ready"): host.state.attempts[uid("held")]}
    ),
    "pod default/big is unschedulable though no plugin rejected it": nobody_rejects,
    "pod default/runs is pending and on node a": lambda host: host.state.pending.update(
        {uid("runs"): host.state.pending[uid("big")]}
    ),
    "pod default/bound is pending, and will never be tried": forget_assumed,
    "pod default/held is in flight, and no attempt is under way": lambda host: host.state.attempts.pop(uid("held")),
    "pod default/bound is assumed, but gone": lambda host: host.state.pending.pop(uid("bound")),
    "pod default/bound is assumed, and nothing is under way to bind it": lambda host: host.state.attempts.pop(
        uid("bound")
    ),
    "pod default/held is on its way to a node, and nothing is being waited for": lambda host: setattr(
        host.state.attempts[uid("held")].task, "_request", None
    ),
    "pod default/held waits on Permit without an attempt": lambda host: host.state.attempts.pop(uid("held")),
    "pod default/held waits on Permit and is not assumed": lambda host: host.engine.cluster.forget(
        host.engine.cluster.pods[uid("held")]
    ),
    "pod default/ready is nominated to a and to no node": lambda host: nominate(host, "ready"),
    "pod default/runs is nominated to a, though not pending": lambda host: nominate(host, "runs"),
    "node a: cpu is 2001": lambda host: host.engine.cluster.nodes.requested["cpu"].set(slot(host), 2001),
    "node a: cpu is 2000 (7.0)": lambda host: host.engine.cluster.nodes.requested["cpu"].array.__setitem__(
        slot(host), 7.0
    ),
    "node a: its handicap is 128, but its pods come to 0": lambda host: host.engine.cluster.nodes.handicap.put(
        slot(host), 128
    ),
    "node a: pods is 4 (4.0), but its pods come to 3": lambda host: host.engine.cluster.nodes.pod_count.set(
        slot(host), 4
    ),
    "node a: cpu with defaults": lambda host: host.engine.cluster.nodes.non_zero_cpu.set(slot(host), 1),
    "node a holds pod default/runs, which is elsewhere": lambda host: setattr(
        host.engine.cluster.pods[uid("runs")], "node_name", "b"
    ),
    "pod default/runs is on node a, which does not hold it": lambda host: info(host).residents.pop(uid("runs")),
    "users of claims are {}": lambda host: host.engine.cluster.claim_users.clear(),
    "pods that a selector or a term counts are": miscount_terms,
    "is taken, and counted as the opposite": lambda host: host.engine.cluster.ports.shift(
        host.engine.cluster.footprint(host.engine.cluster.pods[uid("runs")].template).ports, slot(host), -1
    ),
}


@pytest.mark.parametrize("text", SABOTAGE)
def test_a_broken_rule_is_named(text: str) -> None:
    host = full_house()
    SABOTAGE[text](host)
    assert text in "; ".join(check(host.engine))
    with pytest.raises(InvariantError, match="after tick: "):
        host.engine.tick()


def test_an_engine_that_is_not_watched_can_be_checked_too() -> None:
    host = Host(node("a"), pod("p"), pod("q"), check_invariants=False)
    host.schedule(Bind)
    assert check(host.engine) == []
    lose = host.state.pending.pop(uid("p"))
    assert check(host.engine) == [f"pod {lose.pod.uid} is assumed, but gone"]


def test_what_is_counted_for_nobody_any_more() -> None:
    """A selector that matched pods which are all gone has to come to nothing."""
    host = Host(node("a"), pod("p", "a", labels={"app": "a"}, containers=[PORT]))
    host.put(pod("q", labels={"app": "b"}, affinity=away(term(HOSTNAME, "a"))))
    host.schedule()
    footprint = host.engine.cluster.footprint(host.engine.cluster.pods[uid("p")].template)
    counts = [live() for _, live in footprint.pod_class.selectors]
    host.delete(pod("p"))
    counts[0].add(slot(host), 1)  # type: ignore[union-attr]
    host.engine.cluster.ports.shift(footprint.ports, slot(host), 1)
    told = "; ".join(check(host.engine))
    assert "counts are 1, but there are 0" in told
    assert "is free, and counted as the opposite" in told


class TestRoom:
    """A decision may not put a pod where it has no room."""

    @staticmethod
    def deciding_for(host: Host, node_name: str) -> None:
        profile = host.engine.profiles["default-scheduler"]
        profile.decide = lambda asked: Decision(profile, asked, node_name, 1, 1, CycleState())  # type: ignore[method-assign]

    @pytest.mark.parametrize(
        ("wants", "text"),
        [
            ({"cpu": 2}, "wants 2000 cpu of node a, where 3000 of 4000 are taken"),
            ({"example.com/gpu": 1}, "wants 1 example.com/gpu of node a, where 0 of 0 are taken"),
            ({}, "wants 1 pods of node a, where 1 of 1 are taken"),
        ],
    )
    def test_on_a_node(self, wants: dict[str, object], text: str) -> None:
        host = Host(node("a", cpu=4, pods=1), pod("runs", "a", requests={"cpu": 3}), pod("p", requests=wants))
        self.deciding_for(host, "a")
        with pytest.raises(InvariantError, match=f"after schedule_one: .*pod default/p {text}"):
            host.engine.schedule_one()

    def test_on_a_node_that_does_not_exist(self) -> None:
        host = Host(node("a"), pod("p"))
        self.deciding_for(host, "b")
        with pytest.raises(InvariantError, match="pod default/p goes to node b, which does not exist"):
            host.engine.schedule_one()

    def test_what_others_do_is_not_our_fault(self) -> None:
        host = Host(node("a", cpu=2), pod("p", "a", requests={"cpu": 2}), pod("q", "a", requests={"cpu": 2}))
        host.put(node("a", cpu=1))
        assert check(host.engine) == []

    @pytest.mark.parametrize("off", ["NodeResourcesFit", "*"])
    def test_nobody_asked_for_it(self, off: str) -> None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"filter": {"disabled": [{"name": off}]}}}],
        }
        host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}), config=config)
        host.schedule()
        assert host.node_of("p") == "a"


class TestOverlooked:
    def test_a_pod_that_nobody_woke(self) -> None:
        host = Host(node("a", cpu=2), pod("p", "a", requests={"cpu": 2}), pod("q", requests={"cpu": 1}))
        host.schedule()
        assert list(overlooked(host.engine)) == []
        host.state.queue.move = lambda *args: None  # type: ignore[method-assign]
        host.delete(pod("p"))
        (found,) = overlooked(host.engine)
        assert str(found) == "pod default/q waits, rejected by NodeResourcesFit, though it fits on a"
        assert found.node_names == ("a",)

    def test_not_one_that_was_woken(self) -> None:
        host = Host(node("a", cpu=2), pod("p", "a", requests={"cpu": 2}), pod("q", requests={"cpu": 1}))
        host.schedule()
        host.delete(pod("p"))
        assert host.place("q") == "backoff"
        assert list(overlooked(host.engine)) == []

    def test_not_one_whose_plugin_alone_knows(self) -> None:
        host = Recorded(node("a"), pod("p"), answers={"permit": reject("no")})
        host.schedule()
        assert host.place("p") == "unschedulable"
        assert list(overlooked(host.engine)) == []

    def test_not_one_that_is_left_without_nodes(self) -> None:
        host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
        host.schedule()
        host.delete(node("a"))
        assert host.place("p") == "unschedulable"
        assert list(overlooked(host.engine)) == []


def test_a_suspended_cycle_holds_its_pod_in_flight() -> None:
    extender = FakeExtender(filter=lambda pod, nodes: Filtered(list(nodes)))
    host = Host(node("a"), node("b"), pod("p"), extenders=(extender,))
    assert host.engine.schedule_one()
    assert host.engine.suspended
    assert check(host.engine) == []
    asked: CallExtender = host.next_open(CallExtender)
    host.do(asked, extender.answer(asked))
    assert not host.engine.suspended
    assert isinstance(host.next_open(Bind), Bind)
