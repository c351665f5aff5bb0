from collections.abc import Callable

import pytest
from tests.builders import node, pod, typed

from stowplan import api
from stowplan.api.kinds import KINDS
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.informer_cache import InformerCache
from stowplan.extender.reservations import ReservationBook, Reservations
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, reject

pytestmark = pytest.mark.usefixtures("klog")

NODE, POD, CLAIM = KINDS["Node"], KINDS["Pod"], KINDS["PersistentVolumeClaim"]


N1 = typed(node("n1"))


def stored(name: str, on: str = "", phase: str = "") -> api.Pod:
    made: api.Pod = typed(pod(name, on, uid=name, status={"phase": phase}))
    return made


def put(cache: InformerCache, *items: api.Node | api.Pod) -> None:
    for item in items:
        cache.put(NODE if isinstance(item, api.Node) else POD, [(item, None)])


def test_nodes_and_pods_come_and_go() -> None:
    cache = InformerCache()
    put(cache, N1, stored("a", "n1"), stored("b"))
    info = cache.cluster.nodes.get("n1")
    assert info is not None
    assert set(info.pods) == {"a"}
    waiting = cache.pending_pod("b")
    assert waiting is not None
    assert waiting.key == "default/b"
    put(cache, stored("b", "n1"))
    assert cache.pending_pod("b") is None
    assert set(info.pods) == {"a", "b"}
    put(cache, stored("b"))  # older news
    assert cache.pending_pod("b") is None
    put(cache, stored("a", "n1", "Succeeded"))
    assert set(info.pods) == {"b"}
    cache.removed(POD, [stored("b", "n1")])
    cache.removed(NODE, [N1])
    assert len(cache.cluster.nodes) == 0
    assert not cache.cluster.pods


def test_answers_are_not_kept_when_conditions_change() -> None:
    class NotSlow(Plugin):
        name, scope = "NotSlow", "node"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            slow = any(condition.type == "Slow" for condition in node.node.status.conditions)
            return reject("slow") if slow else None

    cache = InformerCache()
    handlers = Handlers([GroupMember(NotSlow)], cluster_cache=cache)
    for kind in (NODE, POD):
        cache.synced(kind)
    asked = b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":["n1"]}'
    slow = api.NodeStatus(conditions=(api.Condition(type="Slow", status="True"),))
    for status, left in ((api.NodeStatus(), 1), (slow, 0), (api.NodeStatus(), 1)):
        put(cache, api.Node(metadata=api.ObjectMeta(name="n1"), status=status))
        assert handlers.filter(asked).facts.nodes_out == left
    handlers.close()


def test_what_plugins_look_up_besides() -> None:
    cache = InformerCache(["Node", "Pod", "PersistentVolumeClaim"])
    claim = api.PersistentVolumeClaim(metadata=api.ObjectMeta(name="c", namespace="d"))
    cache.put(CLAIM, [(claim, None)])
    assert cache.cluster.stores.of(api.PersistentVolumeClaim).get("c", "d") == claim
    cache.removed(CLAIM, [claim])
    assert cache.cluster.stores.of(api.PersistentVolumeClaim).get("c", "d") is None


@pytest.mark.parametrize("ending", ["synced", "missing", "forbidden"])
def test_it_is_synced_when_all_has_been_told(ending: str) -> None:
    told: list[bool] = []
    cache = InformerCache(["Node", "Pod", "PersistentVolumeClaim"], on_synced=lambda: told.append(True))
    cache.synced(NODE)
    cache.synced(POD)
    assert not cache.has_synced
    getattr(cache, ending)(*((CLAIM, "list") if ending == "forbidden" else (CLAIM,)))
    assert cache.has_synced
    cache.synced(POD)
    assert told == [True]


def test_pods_that_may_not_be_read_are_waited_for() -> None:
    cache = InformerCache()
    cache.synced(NODE)
    cache.forbidden(POD, "list")
    assert not cache.has_synced


def test_nothing_changes_until_whoever_runs_plugins_lets_it() -> None:
    cache, changes = InformerCache(), list[Callable[[], None]]()
    cache.apply = changes.append
    put(cache, N1)
    cache.synced(NODE)
    cache.synced(POD)
    assert (len(cache.cluster.nodes), cache.has_synced) == (0, False)
    for change in changes:
        change()
    assert (len(cache.cluster.nodes), cache.has_synced) == (1, True)


def test_reservations_hear_of_it() -> None:
    class Keeper(Plugin):
        name = "Keeper"
        held = None

    reservations, keeper = ReservationBook(), Keeper(None, None)  # type: ignore[arg-type]
    held = keeper.held = Reservations[int]()
    reservations.adopt(keeper)
    cache = InformerCache(reservations=reservations)
    put(cache, N1)
    for uid in "abc":
        held.reserve(uid, "n1", 1)
    put(cache, stored("a", "n1"))
    cache.removed(POD, [stored("b")])
    assert [uid for uid in "abc" if held.of(uid)] == ["c"]
    assert (held.ended["confirmed"], held.ended["released"]) == (1, 1)


def test_one_bad_object_does_not_keep_others_out(capsys: pytest.CaptureFixture[str]) -> None:
    cache = InformerCache()
    cache.put(NODE, [(api.Node(metadata=api.ObjectMeta(name="odd"), status=None), None), (N1, None)])
    assert cache.cluster.nodes.get("n1") is not None
    assert "Failed to add an object to the cache" in capsys.readouterr().err


def test_the_age_of_news() -> None:
    now = 5.0
    cache = InformerCache(clock=lambda: now)
    assert cache.age() is None
    put(cache, N1)
    now = 12.0
    assert cache.age() == 7.0
