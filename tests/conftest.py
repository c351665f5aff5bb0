"""Settings for all tests. Hypothesis has no deadline, since the speed of the machine is not under test."""

import logging
import os
import signal
import threading
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from stowplan import logs
from stowplan.testing.binaries import KUBERNETES_VERSIONS, release

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test fails; otherwise a missing binary would go unnoticed."""
    report = yield
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that need a later release of the control plane than `$STOWPLAN_RELEASE`."""
    current = list(KUBERNETES_VERSIONS).index(release())
    marks = {item: item.get_closest_marker("since") for item in items}
    late = {item for item, mark in marks.items() if mark and list(KUBERNETES_VERSIONS).index(mark.args[0]) > current}
    if late:
        config.hook.pytest_deselected(items=list(late))
        items[:] = [item for item in items if item not in late]


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """Undo the logging set-up of a command, which is process-wide, after the test."""
    root, own = logging.getLogger(), logging.getLogger("stowplan")
    handlers, level = list(root.handlers), own.level
    yield
    own.setLevel(level)
    logs.unconfigure()
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)


@pytest.fixture(autouse=True)
def default_interrupts() -> None:
    """Restore Python's handler of SIGINT, which is process-wide, if an earlier test left another one."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def klog() -> None:
    """Log lines go to standard error in klog's format, as those of servers do."""
    logs.configure(logs.LogOptions())
