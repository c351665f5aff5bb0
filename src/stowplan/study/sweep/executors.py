"""Executors: where the runs of a sweep are executed. Each is a concurrent.futures.Executor."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from stowplan.errors import InputError

_PROFILE = "distributed.worker.profile.enabled"
"""Workers sample the stacks of tasks a hundred times a second."""


class CallerRunsPool(ProcessPoolExecutor):
    """Processes of this machine, beside which the caller executes tasks itself: it has all modules imported, which
    takes a new process about a second."""


@contextmanager
def process_executor(jobs: int) -> Iterator[Executor]:
    """Two or more processes of this machine with this one. They are spawned, not forked: a fork would copy threads and
    event loops."""
    with CallerRunsPool(max(jobs - 1, 1), mp_context=get_context("spawn")) as executor:
        yield executor


@contextmanager
def dask_executor(address: str = "", jobs: int = 2) -> Iterator[Executor]:
    """Dask workers: those of a scheduler at an address, or a local cluster. Needs the extra `dask`."""
    distributed = _imported("distributed", "dask")
    if address:
        client = distributed.Client(address)
    else:
        _imported("dask", "dask").config.set({_PROFILE: False})
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
