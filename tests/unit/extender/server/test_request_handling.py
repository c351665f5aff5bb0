import asyncio
from time import monotonic

import pytest
from tests.unit.extender.server.fakes import Canned, make_answering

from stowplan.extender.server.request_handling import HttpExchange, RequestRefusal

pytestmark = pytest.mark.usefixtures("klog")


class Notes:
    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, bytes]] = []
        self.kept: list[HttpExchange] = []

    def note(self, exchange: HttpExchange) -> None:
        self.seen.append((exchange.path, bytes(exchange.request), exchange.reply.body))
        self.kept.append(exchange)


def test_routes() -> None:
    answering = make_answering()
    assert answering.route("POST", "/filter") == "filter"
    for method, path, status, cause in (("POST", "/x", 404, "unknown_path"), ("PUT", "/filter", 405, "method")):
        refusal = answering.route(method, path)
        assert isinstance(refusal, RequestRefusal)
        assert (refusal.status, refusal.cause) == (status, cause)


def test_observers_see_everything_and_keep_no_bodies() -> None:
    notes = Notes()
    answering = make_answering(Canned(), notes)
    answer = asyncio.run(answering.answer("filter", "/x/filter", b"abc", monotonic(), "10.0.0.1"))
    assert answer == (200, b'{"n":3}')
    assert notes.seen == [("/x/filter", b"abc", b'{"n":3}')]
    assert notes.kept[0].reply.body == b""


def test_a_observer_that_fails_does_not_spoil_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    class Clumsy:
        def note(self, exchange: HttpExchange) -> None:
            raise RecursionError("too deep")

    notes = Notes()
    answering = make_answering(Canned(), Clumsy(), notes)
    assert asyncio.run(answering.answer("filter", "/filter", b"abc", monotonic())) == (200, b'{"n":3}')
    assert len(notes.seen) == 1
    assert 'err="too deep" verb="filter" by="Clumsy"' in capsys.readouterr().err
