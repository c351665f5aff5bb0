import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.framework import Call, Failure
from stowplan.scheduler.calls import Caller


def outcome_of(function: Callable[[], Any], deadline: float = 5.0) -> Any:
    async def run() -> Any:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        caller = Caller(loop, deadline)
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


async def takes_long() -> None:
    await asyncio.sleep(5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raises, "raised ValueError: no"),
        (lambda: sys.exit("enough"), "raised SystemExit: enough"),
        (raises_later, "raised TimeoutError: mine"),
        (lambda: raises_later(), "raised TimeoutError: mine"),
        (lambda: time.sleep(0.5), "did not return within 0.05 s"),
        (takes_long, "did not return within 0.05 s"),
    ],
)
def test_what_goes_wrong_is_told(function: Callable[[], Any], message: str) -> None:
    outcome = outcome_of(function, deadline=0.05)
    assert isinstance(outcome, Failure)
    assert outcome.message == message


def test_a_call_that_hangs_holds_up_nobody_else() -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        caller = Caller(loop, 5.0)
        caller.start(Call("mine", "bind", lambda: time.sleep(0.5)), lambda outcome: None)
        answered: asyncio.Future[Any] = loop.create_future()
        begun = loop.time()
        caller.start(Call("mine", "bind", lambda: None), answered.set_result)
        await answered
        caller.close()
        return loop.time() - begun

    assert asyncio.run(run()) < 0.4
