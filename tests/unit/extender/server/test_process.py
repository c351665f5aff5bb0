import asyncio
import os
import signal
import socket

import pytest
from tests.unit.extender.server.examples import TIDY

from stowplan.extender.server import process
from stowplan.extender.server.extender import ExtenderServer
from stowplan.extender.server.settings import ExtenderSettings
from stowplan.serving import ServingOptions


def test_for_programs_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ExtenderSettings] = []

    def serve(settings: ExtenderSettings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(process, "serve", serve)
    assert process.run([TIDY], port=1, url_prefix="/x") == 0
    assert process.run([TIDY], kubeconfig="k") == 0
    first, second = seen
    assert (first.serving.port, first.url_prefix, first.policy.bare_names) == (1, "/x", True)
    assert (second.serving.port, second.serving.address, second.policy.bare_names) == (8888, "127.0.0.1", False)


def test_what_keeps_it_from_starting_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        process.run([TIDY], port=taken.getsockname()[1])
    assert str(ended.value).startswith("stowplan: --port: failed to create listener")
    assert "\n" not in str(ended.value)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(number: signal.Signals) -> None:
    serving = ServingOptions(address="127.0.0.1", port=0)

    async def run() -> None:
        extender = ExtenderServer(ExtenderSettings(members=(TIDY,), serving=serving))
        ending, before = asyncio.create_task(process._serve(extender)), signal.getsignal(number)
        while signal.getsignal(number) == before:
            await asyncio.sleep(0.01)  # It would be the end of this process.
        os.kill(os.getpid(), number)
        await asyncio.wait_for(ending, 30)

    asyncio.run(run())
