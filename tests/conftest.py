"""Settings for all tests. Hypothesis judges results, not the speed of the machine, so its deadline is off."""

import logging
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where CI runs the tests, one that is skipped has failed: nobody would notice what is not tested."""
    report = yield
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """A command that sets up logging does so for the process, which the next test is not to notice."""
    root, own = logging.getLogger(), logging.getLogger("stowplan")
    handlers, level = list(root.handlers), own.level
    yield
    own.setLevel(level)
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
