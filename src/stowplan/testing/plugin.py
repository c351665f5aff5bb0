"""The pytest plugin: fixtures for a real control plane. Usage: `stowplan.testing`.

pytest loads this module in every environment with Stowplan, so it imports only what is needed before the first fixture.
"""

import os
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

if TYPE_CHECKING:
    from stowplan.testing.control_plane import ControlPlane
    from stowplan.testing.fault_proxy import FaultProxy
    from stowplan.testing.kube_api import KubeApi
    from stowplan.testing.kube_scheduler import KubeScheduler
    from stowplan.testing.processes import Process

_processes = pytest.StashKey[list["Process"]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: runs against a real API server; deselect with -m 'not e2e'")
    config.stash[_processes] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the logs with a failed test."""
    report = yield
    if report.failed:
        for process in item.config.stash[_processes]:
            report.sections.append((f"Log of {process.name}", process.last_log()))
    return report


@contextmanager
def _or_skip() -> Iterator[None]:
    """Skip the test if the binaries are missing; in CI, where skipped tests go unnoticed, fail it."""
    from stowplan.testing.errors import UnavailableError

    try:
        yield
    except UnavailableError as problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(problem))


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator["ControlPlane"]:
    """A control plane that all tests share; `kube_api` empties it after each test that uses it."""
    with _or_skip():
        from stowplan.testing.control_plane import ControlPlane

        shared = ControlPlane(folder=tmp_path_factory.mktemp("control-plane"))
        shared.start()
    pytestconfig.stash[_processes].extend(shared.processes)
    yield shared
    shared.stop()


@pytest.fixture
def kube_api(control_plane: "ControlPlane") -> Iterator["KubeApi"]:
    """An administrator's client of the shared API server. Nodes, pods and other objects are deleted after the test."""
    from stowplan.testing.cleanup import clear_cluster

    with control_plane.client() as client:
        yield client
        clear_cluster(client)


@pytest.fixture
def namespace(kube_api: "KubeApi") -> Iterator[str]:
    """The name of a new namespace on the shared API server, for this test only."""
    from stowplan.testing.cleanup import delete_namespace

    name = f"test-{uuid.uuid4().hex[:12]}"
    kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    delete_namespace(kube_api, name)


@pytest.fixture
def _own(pytestconfig: pytest.Config) -> Iterator["_Own"]:
    own = _Own(pytestconfig.stash[_processes])
    yield own
    own.stop()


@pytest.fixture
def start_control_plane(tmp_path_factory: pytest.TempPathFactory, _own: "_Own") -> Callable[..., "ControlPlane"]:
    """A function that starts another control plane, for this test only, with the options of ControlPlane."""

    def start(**options: Any) -> "ControlPlane":
        with _or_skip():
            from stowplan.testing.control_plane import ControlPlane

            return _own.start(ControlPlane(**{"folder": tmp_path_factory.mktemp("control-plane"), **options}))

    return start


@pytest.fixture
def start_kube_scheduler(request: pytest.FixtureRequest, _own: "_Own") -> Callable[..., "KubeScheduler"]:
    """A function that starts a kube-scheduler, on the shared control plane or on that of its first argument."""

    def start(control_plane: "ControlPlane | None" = None, **options: Any) -> "KubeScheduler":
        with _or_skip():
            from stowplan.testing.kube_scheduler import KubeScheduler

            place = control_plane or request.getfixturevalue("control_plane")
            return _own.start(KubeScheduler(place, **options))

    return start


@pytest.fixture
def start_fault_proxy(request: pytest.FixtureRequest, _own: "_Own") -> Callable[..., "FaultProxy"]:
    """A function that starts a fault proxy, in front of the shared control plane or that of its first argument."""

    def start(control_plane: "ControlPlane | None" = None, **options: Any) -> "FaultProxy":
        with _or_skip():
            from stowplan.testing.fault_proxy import FaultProxy

            place = control_plane or request.getfixturevalue("control_plane")
            return _own.start(FaultProxy(place, **options))

    return start


class _Runs(Protocol):
    """A startable component and its processes."""

    @property
    def processes(self) -> "list[Process]": ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


_R = TypeVar("_R", bound=_Runs)


class _Own:
    """Components that one test has started: stopped in reverse order; their logs are shown on failure."""

    def __init__(self, shown: "list[Process]") -> None:
        self._shown = shown
        self._mine: list[Process] = []
        self._stack = ExitStack()

    def start(self, thing: _R) -> _R:
        thing.start()
        self._stack.callback(thing.stop)
        self._mine.extend(thing.processes)
        self._shown.extend(thing.processes)
        return thing

    def stop(self) -> None:
        self._stack.close()
        for process in self._mine:
            self._shown.remove(process)
