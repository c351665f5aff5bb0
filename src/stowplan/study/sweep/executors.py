"""Executors: where the runs of a sweep are executed. Each is a concurrent.futures.Executor."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from typing import Any

from stowplan.errors import InputError

_LOCAL_CLUSTER_SETTINGS = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
}
"""Workers sample stacks, the system and the delay of their event loop up to a hundred times a second."""
_START_METHOD = "distributed.worker.multiprocessing-method"


@contextmanager
def process_executor(jobs: int) -> Iterator[Executor]:
    """Processes of this machine. On exit, tasks that no process has begun are cancelled."""
    context = get_context(start_method())
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_process)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside the threads of BLAS, which handles them
        executor.submit(int)  # starts the processes, before the executor starts a thread
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def start_method() -> str:
    """How new processes start. A process forked from this one has all modules imported, which takes a spawned one about
    a second. With other threads, processes are spawned: a fork would copy locks that those threads hold."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _start_fork_server() -> str:
    """Start the process that Dask forks its workers from, which imports the modules of a run once for all of them.
    Workers are not forked from this process, where Dask has a thread. Returns the start method."""
    if sys.platform != "linux":
        return "spawn"
    get_context("forkserver").set_forkserver_preload(["distributed", "stowplan.study.sweep.scenario_runner"])
    forkserver.ensure_running()
    return "forkserver"


def _prepare_process() -> None:
    """In a new process: imported modules are not garbage, and an interrupt ends the process without a traceback."""
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def dask_executor(address: str = "", jobs: int = 2) -> Iterator[Executor]:
    """Dask workers: those of a scheduler at an address, or a local cluster. Needs the extra `dask`."""
    distributed = _imported("distributed", "dask")
    if address:
        client = distributed.Client(address)
    else:
        _imported("dask", "dask").config.set({**_LOCAL_CLUSTER_SETTINGS, _START_METHOD: _start_fork_server()})
        cluster = distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            protocol="tcp://",
            memory_limit=0,
        )
        client = distributed.Client(cluster)
    try:
        with client.get_executor(pure=False) as executor:
            yield executor
    finally:
        client.close()
        if not address:
            cluster.close()


class RayExecutor(Executor):
    """Tasks of Ray, which the caller has initialised."""

    def __init__(self) -> None:
        self._ray = _imported("ray", "ray")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._ray.remote(fn).remote(*args, **kwargs).future()
        return future


def _imported(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        advice = f"pip install 'stowplan[{extra}]'" if extra == "dask" else f"pip install {extra}"
        raise InputError(f"{module} is not installed: {advice}") from None
