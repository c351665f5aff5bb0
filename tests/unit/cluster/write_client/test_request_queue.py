from __future__ import annotations

import pytest

from stowplan.cluster.write_client import WriteRequest
from stowplan.cluster.write_client.writer import RequestQueue


class Finish(WriteRequest):
    __slots__ = ()
    finishes = True


def begin(name: str) -> WriteRequest:
    return WriteRequest(b"POST", name.encode())


def finish(name: str) -> WriteRequest:
    return Finish(b"POST", name.encode())


def drained(backlog: RequestQueue) -> str:
    return "".join(backlog.pop().path.decode() for _ in range(len(backlog)))


@pytest.mark.parametrize(
    ("waiting", "order"),
    [("abc", "abc"), ("ABC", "ABC"), ("abcdA", "Aabcd"), ("aAbBcC", "AaBbCc"), ("ABCDa", "AaBCD"), ("", "")],
)
def test_two_lanes_take_turns(waiting: str, order: str) -> None:
    backlog = RequestQueue()
    for name in waiting:
        backlog.append(finish(name) if name.isupper() else begin(name))
    assert len(backlog) == len(waiting)
    assert drained(backlog) == order
    with pytest.raises(IndexError):
        backlog.pop()


def test_what_finishes_overtakes_all_but_one() -> None:
    backlog = RequestQueue()
    for name in "abcdef":
        backlog.append(begin(name))
    sent = ""
    for name in "AB":
        sent += backlog.pop().path.decode()
        backlog.append(finish(name))
        sent += backlog.pop().path.decode()
    assert sent + drained(backlog) == "aAbBcdef"


def test_what_comes_back_comes_first() -> None:
    backlog = RequestQueue()
    for each in (begin("a"), finish("A")):
        backlog.append(each)
    backlog.put_back((begin("b"), finish("B"), begin("c")))
    assert drained(backlog) == "BcAba"
