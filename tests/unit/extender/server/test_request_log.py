import pytest
from tests.unit.extender.server.examples import request
from tests.unit.extender.server.fakes import reply

from stowplan.extender.server.request_handling import HttpExchange
from stowplan.extender.server.request_log import RequestLog

pytestmark = pytest.mark.usefixtures("klog")


def told(capsys: pytest.CaptureFixture[str], body: bytes) -> str:
    answer = reply("filter", b'{"Error":""}', pod="d/web", nodes_in=2, nodes_out=1)
    RequestLog().note(HttpExchange("filter", "/filter", "10.0.0.1", body, answer, 0.25))
    return capsys.readouterr().err


def test_what_came_and_went(capsys: pytest.CaptureFixture[str]) -> None:
    line = told(capsys, request(("n1", "yes")))
    for part in ('verb="filter"', 'client="10.0.0.1"', 'pod="d/web"', "nodesIn=2", "nodesOut=1", "seconds=0.25"):
        assert part in line
    assert r"\"name\":\"web\"" in line
    assert "hush" not in line


def test_what_is_too_long_or_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert 'request="100,000 bytes"' in told(capsys, b"x" * 100_000)
    assert 'request="20,000 bytes that are not JSON"' in told(capsys, b"[" * 10_000 + b"]" * 10_000)
    assert 'request="4 bytes that are not JSON"' in told(capsys, b"x x ")
    assert "… (5,018 bytes)" in told(capsys, b'{"NodeNames":["%s"]}' % (b"x" * 5000))
