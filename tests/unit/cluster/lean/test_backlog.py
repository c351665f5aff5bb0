from __future__ import annotations

import pytest

from stowplan.cluster.lean import Exchange
from stowplan.cluster.lean.backlog import Backlog


class Finish(Exchange):
    __slots__ = ()
    finishes = True


def begin(name: str) -> Exchange:
    return Exchange(b"POST", name.encode())


def finish(name: str) -> Exchange:
    return Finish(b"POST", name.encode())


def drained(backlog: Backlog) -> str:
    return "".join(backlog.pop().path.decode() for _ in range(len(backlog)))


@pytest.mark.parametrize(
    ("waiting", "order"),
    [("abc", "abc"), ("ABC", "ABC"), ("abcdA", "Aabcd"), ("aAbBcC", "AaBbCc"), ("ABCDa", "AaBCD"), ("", "")],
)
def test_two_lanes_take_turns(waiting: str, order: str) -> None:
    backlog = Backlog()
    for name in waiting:
        backlog.append(finish(name) if name.isupper() else begin(name))
    assert len(backlog) == len(waiting)
    assert drained(backlog) == order
    with pytest.raises(IndexError):
        backlog.pop()


def test_what_finishes_overtakes_all_but_one() -> None:
    backlog = Backlog()
    for name in "abcdef":
        backlog.append(begin(name))
    sent = ""
    for name in "AB":
        sent += backlog.pop().path.decode()
        backlog.append(finish(name))
        sent += backlog.pop().path.decode()
    assert sent + drained(backlog) == "aAbBcdef"


def test_what_comes_back_comes_first() -> None:
    backlog = Backlog()
    for each in (begin("a"), finish("A")):
        backlog.append(each)
    backlog.put_back((begin("b"), finish("B"), begin("c")))
    assert drained(backlog) == "BcAba"
