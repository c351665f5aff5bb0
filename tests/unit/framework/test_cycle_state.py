import pytest

from stowplan.errors import StowplanError
from stowplan.framework import CycleState, StateNotFoundError


class Clonable:
    def __init__(self, number: int) -> None:
        self.number = number

    def clone(self) -> "Clonable":
        return Clonable(self.number)


def test_what_is_written_can_be_read() -> None:
    state = CycleState()
    state.write("k", 1)
    assert state.read("k") == state.get("k") == 1
    state.write("k", None)
    assert state.read("k") is None


def test_missing_keys() -> None:
    state = CycleState()
    assert state.get("k") is None
    with pytest.raises(StateNotFoundError, match=r"^not found$"):
        state.read("k")
    assert issubclass(StateNotFoundError, StowplanError)


def test_delete() -> None:
    state = CycleState()
    state.write("k", 1)
    state.delete("k")
    state.delete("k")
    assert state.get("k") is None


def test_clone_changes_apart_from_the_original() -> None:
    state = CycleState()
    shared = [1]
    state.write("shared", shared)
    state.write("own", Clonable(1))
    state.skip_filter |= {"f"}
    state.skip_score |= {"s"}
    state.skip_pre_bind |= {"b"}
    twin = state.clone()
    twin.read("own").number = 2
    twin.write("more", 1)
    twin.skip_filter |= {"x"}
    twin.skip_score |= {"x"}
    twin.skip_pre_bind |= {"x"}
    assert twin.read("shared") is shared
    assert state.read("own").number == 1
    assert state.get("more") is None
    assert (state.skip_filter, state.skip_score, state.skip_pre_bind) == ({"f"}, {"s"}, {"b"})
    assert twin.skip_filter == {"f", "x"}
