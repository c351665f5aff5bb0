"""Caches of results that depend on a text of an object, such as a label key or a quantity.

A cached text keeps a memory arena of 1 MiB from being freed that held a large pod at the time. A scheduler clears these
caches in idle moments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import TypeVar

T = TypeVar("T")

_clear: list[Callable[[], None]] = []


def text_cache(size: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """As functools.lru_cache, emptied by `clear_text_caches`."""

    def cached(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        wrapper = lru_cache(size)(function)
        _clear.append(wrapper.cache_clear)
        return wrapper

    return cached


def clear_text_caches() -> None:
    for clear in _clear:
        clear()
