from hypothesis import given
from hypothesis import strategies as st

from stowplan import api
from stowplan.api.kinds import KINDS
from stowplan.cluster.reflector.known_objects import KnownObjects


def _meta(name: str, uid: str = "1", namespace: str = "ns") -> api.ObjectMeta:
    return api.ObjectMeta(name=name, namespace=namespace, uid=uid)


def _memory(*metas: api.ObjectMeta) -> KnownObjects:
    memory = KnownObjects(KINDS["Pod"])
    memory.start_list()
    for meta in metas:
        assert memory.note(meta) is None
    assert memory.end_list() == []
    return memory


def test_what_a_list_no_longer_contains_has_vanished() -> None:
    memory = _memory(_meta("a"), _meta("b"))
    memory.start_list()
    assert memory.note(_meta("b")) is None
    assert memory.end_list() == [api.Pod(metadata=_meta("a"))]
    assert memory.end_list() == []


def test_an_object_of_the_same_name_takes_the_place_of_another() -> None:
    memory = _memory(_meta("a", uid="1"))
    assert memory.note(_meta("a", uid="2")) == api.Pod(metadata=_meta("a", uid="1"))
    assert memory.note(_meta("a", uid="2")) is None
    memory.start_list()
    assert memory.note(_meta("a", uid="3")) == api.Pod(metadata=_meta("a", uid="2"))
    assert memory.end_list() == []


def test_what_was_deleted_does_not_vanish_again() -> None:
    memory = _memory(_meta("a"))
    memory.forget(_meta("a"))
    memory.forget(_meta("unheard of"))
    memory.start_list()
    assert memory.end_list() == []


def test_a_list_that_starts_over_forgets_nothing() -> None:
    memory = _memory(_meta("a"), _meta("b"))
    memory.start_list()
    memory.note(_meta("b"))
    memory.note(_meta("c"))
    memory.start_list()
    memory.note(_meta("b"))
    assert [pod.metadata.name for pod in memory.end_list()] == ["a", "c"]


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=6), st.booleans()), max_size=6))
def test_known_is_what_the_last_complete_list_held_and_all_since(lists: list[tuple[list[int], bool]]) -> None:
    memory = KnownObjects(KINDS["Node"])
    told: set[str] = set()
    for names, completes in lists:
        memory.start_list()
        for name in names:
            memory.note(_meta(str(name), namespace=""))
            told.add(str(name))
        if completes:
            vanished = {node.metadata.name for node in memory.end_list()}
            assert vanished == told - set(map(str, names))
            told -= vanished
    memory.start_list()
    assert {node.metadata.name for node in memory.end_list()} == told
