import asyncio
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.framework import Call, Failure
from stowplan.scheduler.plugin_calls import PluginCaller


def outcome_of(function: Callable[[], Any], deadline: float = 60.0) -> Any:
    async def run() -> Any:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        caller = PluginCaller(loop, deadline)
        caller.start(Call("mine", "permit", function), answered.set_result)
        try:
            return await answered
        finally:
            caller.close()

    return asyncio.run(run())


async def coroutine() -> str:
    await asyncio.sleep(0)
    return "awaited"


@pytest.mark.parametrize(
    ("function", "result"), [(lambda: "plain", "plain"), (coroutine, "awaited"), (lambda: coroutine(), "awaited")]
)
def test_what_a_function_returns_or_what_it_awaits(function: Callable[[], Any], result: str) -> None:
    assert outcome_of(function) == result


def test_plain_functions_run_elsewhere() -> None:
    assert outcome_of(threading.get_ident) != threading.get_ident()


def raises() -> None:
    raise ValueError("no")


async def raises_later() -> None:
    await asyncio.sleep(0)
    raise TimeoutError("mine")


async def is_cancelled() -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


async def takes_an_argument(argument: int) -> None:
    pass


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise AttributeError("reason")


def raises_unspeakably() -> None:
    raise UnspeakableError


def raises_beyond_exceptions() -> None:
    raise asyncio.CancelledError("never mind")


async def takes_long() -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raises, "raised ValueError: no"),
        (lambda: sys.exit("enough"), "raised SystemExit: enough"),
        (raises_later, "raised TimeoutError: mine"),
        (lambda: raises_later(), "raised TimeoutError: mine"),
        (is_cancelled, "raised CancelledError: "),
        (
            takes_an_argument,
            "raised TypeError: takes_an_argument() missing 1 required positional argument: 'argument'",
        ),
        (raises_unspeakably, "raised UnspeakableError: (no text)"),
        (raises_beyond_exceptions, "raised CancelledError: never mind"),
    ],
)
def test_what_goes_wrong_is_told(function: Callable[[], Any], message: str) -> None:
    outcome = outcome_of(function)
    assert isinstance(outcome, Failure)
    assert re.sub(r" \(tests/\S+/test_plugin_calls.py:\d+\)$", "", outcome.message) == message
    assert outcome.message != message or "takes_an_argument" in message


@pytest.mark.parametrize("function", [lambda: time.sleep(10), takes_long])
def test_what_takes_too_long_is_told(function: Callable[[], Any]) -> None:
    outcome = outcome_of(function, deadline=0.05)
    assert isinstance(outcome, Failure)
    assert outcome.message == "did not return within 0.05 s"


def test_a_call_that_hangs_holds_up_nobody_else() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        caller, goes_on = PluginCaller(loop, 60.0), threading.Event()
        first, second = loop.create_future(), loop.create_future()
        caller.start(Call("mine", "bind", lambda: goes_on.wait(60)), first.set_result)
        caller.start(Call("mine", "bind", lambda: "done"), second.set_result)
        assert await second == "done"
        assert not first.done()
        goes_on.set()
        assert await first
        caller.close()

    asyncio.run(run())
