"""Pods that arrive over some time, whatever happens to the API server meanwhile."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from stowplan.testing import KubeApi, RefusedError, SurroundingsError, pod

BURST = 25
ALREADY_THERE = 409


@contextmanager
def arriving(
    kube_api: KubeApi, namespace: str, count: int, *, within: float, first: int = 0, **of: Any
) -> Iterator[None]:
    """So many pods, p-<first> and on, arrive burst by burst. When the `with` ends, the rest arrives without pauses.

    `of` goes to `pod`.
    """
    hurry = threading.Event()

    def create() -> None:
        with ThreadPoolExecutor(2) as threads:
            for start in range(first, first + count, BURST):
                names = [f"p-{i}" for i in range(start, min(start + BURST, first + count))]
                list(threads.map(lambda name: create_surely(kube_api, name, namespace, **of), names))
                hurry.wait(within * BURST / count)

    thread = threading.Thread(target=create, name="arrivals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        hurry.set()
        thread.join()


def create_surely(kube_api: KubeApi, name: str, namespace: str, **of: Any) -> None:
    """Create a pod, and for as long as the server is away try again."""
    while True:
        try:
            kube_api.create(pod(name, namespace, **of))
            return
        except RefusedError as refusal:
            if refusal.status == ALREADY_THERE:
                return
            if refusal.status < 500:
                raise
        except SurroundingsError:
            pass
        time.sleep(0.2)
