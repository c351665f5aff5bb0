import asyncio
import os
import signal
import socket
from collections.abc import Sequence

import pytest
from tests.unit.extender.server.examples import TIDY

from stowplan.extender.handlers import GroupMember
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.server import process
from stowplan.extender.server.configuration import ExtenderServerConfiguration, from_options
from stowplan.extender.server.extender import ExtenderServer


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ExtenderServerConfiguration]:
    """The configurations with which a server would have run."""
    seen: list[ExtenderServerConfiguration] = []

    def serve(config: ExtenderServerConfiguration, members: Sequence[GroupMember]) -> int:
        assert list(members) == [TIDY]
        seen.append(config)
        return 0

    monkeypatch.setattr(process, "serve", serve)
    return seen


def test_for_programs_of_ones_own(served: list[ExtenderServerConfiguration]) -> None:
    assert process.run([TIDY], port=1, url_prefix="/x") == 0
    assert process.run([TIDY], kubeconfig="k") == 0
    first, second = served
    assert (first.serving.port, first.serving.url_prefix, first.bare_names) == (1, "/x", True)
    assert (second.serving.port, second.serving.address, second.bare_names) == (8888, "127.0.0.1", False)


def test_a_policy_of_ones_own_and_options_that_do_not_exist(served: list[ExtenderServerConfiguration]) -> None:
    process.run([TIDY], policy=OperatorPolicy(shadow=True), port=1)
    assert (served[0].shadow, served[0].serving.port) == (True, 1)
    with pytest.raises(TypeError, match="there is no option 'prot'; there are allowed_host, allowed_names, "):
        process.run([TIDY], prot=1)


def test_what_keeps_it_from_starting_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        process.run([TIDY], port=taken.getsockname()[1])
    assert str(ended.value).startswith("stowplan: --port: failed to create listener")
    assert "\n" not in str(ended.value)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(number: signal.Signals) -> None:
    async def run() -> None:
        extender = ExtenderServer(from_options(port=0), [TIDY])
        ending, before = asyncio.create_task(process._serve(extender)), signal.getsignal(number)
        while signal.getsignal(number) == before:
            await asyncio.sleep(0.01)  # It would be the end of this process.
        os.kill(os.getpid(), number)
        await asyncio.wait_for(ending, 30)

    asyncio.run(run())
