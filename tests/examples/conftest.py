"""What the tests of examples start."""

from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[[Any], Any]


@pytest.fixture
def start(_own: Any) -> Start:
    """A function that starts a StaticPod or an ExampleExtender, which is stopped after the test."""

    def start(thing: Any) -> Any:
        _own.start(thing)
        if hasattr(thing, "wait_ready"):
            thing.wait_ready()
        return thing

    return start
