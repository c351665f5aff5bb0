"""Executors: where the runs of a sweep are executed. Each is a concurrent.futures.Executor."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

from stowplan import logs
from stowplan.errors import MissingExtraError

_LOCAL_CLUSTER_SETTINGS = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}
"""By default workers sample stacks, the system and the delay of their event loop up to a hundred times a second, and
the modules of web pages that are not served take a tenth of a second."""

MAX_BATCH_TASKS = 4
"""Tasks in one call of a BatchExecutor, at most."""


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


def _prepare_process() -> None:
    """In a new process: imported modules are not garbage, and an interrupt ends the process without a traceback."""
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def dask_executor(address: str = "", jobs: int = 2) -> Iterator[Executor]:
    """Dask workers: those of a scheduler at an address, or a local cluster. Needs the extra `dask`."""
    distributed = _imported("distributed", "dask")
    if not address:
        with _local_cluster(distributed, jobs) as client, client.get_executor(pure=False) as executor:
            yield BatchExecutor(executor, jobs)
        return
    with distributed.Client(address) as client, client.get_executor(pure=False) as executor:
        yield BatchExecutor(executor, sum(client.nthreads().values()))


@contextmanager
def _local_cluster(distributed: Any, jobs: int) -> Iterator[Any]:
    """A Dask scheduler in this process, whose workers are forked before Dask starts its thread. Dask's own processes
    start more than a second later: they import all modules again."""
    _imported("dask", "dask").config.set(_LOCAL_CLUSTER_SETTINGS)
    distributed.versions.get_versions()  # Forked workers inherit the versions of packages, which take 20 ms to find.
    with process_executor(jobs) as processes:
        cluster = distributed.LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            protocol="tcp://",
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            scheduler_sync_interval=3600,
            silence_logs=logging.ERROR,
        )
        workers = [processes.submit(_serve_dask, cluster.scheduler_address) for _ in range(jobs)]
        with cluster, distributed.Client(cluster) as client:
            for worker in workers:
                worker.add_done_callback(partial(_cancel_tasks, client))
            yield client


def _cancel_tasks(client: Any, worker: Future[None]) -> None:
    """Cancel all tasks when a worker was killed: otherwise Dask would wait for another worker."""
    if not worker.cancelled() and worker.exception() is not None:
        client.close()


def _serve_dask(scheduler_address: str) -> None:
    """Serve a Dask scheduler as a worker until the scheduler ends."""
    distributed = _imported("distributed", "dask")
    logs.keep_errors_only("distributed")  # The worker itself sets only some of the loggers below it.
    logs.leave_out("distributed.worker", "during heartbeat")  # One may be under way while the scheduler ends.

    async def serve() -> None:
        worker = distributed.Worker(
            scheduler_address,
            nthreads=1,
            host="127.0.0.1",
            dashboard=False,
            memory_limit=0,
            silence_logs=logging.ERROR,
        )
        async with worker:
            gc.freeze()
            await worker.finished()

    asyncio.run(serve())


class BatchExecutor(Executor):
    """An executor that takes milliseconds for each call, so short runs are submitted in batches."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self._executor = executor
        self.workers = workers
        """Calls that are executed at the same time; 0 if the number is unknown."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(fn, *args, **kwargs)

    def batch_size(self, waiting: int) -> int:
        """The number of tasks for the next call, of those that wait. The last calls have one task each, so that all
        workers finish at about the same time."""
        return max(1, min(MAX_BATCH_TASKS, waiting // (4 * self.workers))) if self.workers else 1


class RayExecutor(Executor):
    """Tasks of Ray, which the caller has initialised."""

    def __init__(self) -> None:
        self._ray = _imported("ray", "ray")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._ray.remote(fn).remote(*args, **kwargs).future()
        return future


def _imported(module: str, extra: str) -> Any:
    collects = gc.isenabled()
    gc.disable()  # modules are not garbage
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"{module} is not installed", extra) from None
    finally:
        if collects:
            gc.enable()
