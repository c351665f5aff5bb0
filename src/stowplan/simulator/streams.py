"""Streams of random numbers: one generator for each (seed, path in the scenario, kind of draw).

A further workload therefore does not change the draws of another one, and runs of two configurations with the same seed
have the same arrivals, durations and failures. Uniform numbers are made from the raw output of PCG64, whose bits NumPy
guarantees across versions; distributions are inverted by `quantities`, since NumPy does not guarantee its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from numpy.random import PCG64

_BLOCK_NUMBERS = 256
_UNIT = 2.0**-53
"""Uniform numbers have 53 bits, so they are exact floats in [0, 1)."""


def _hashed(seed: int, parts: tuple[str, ...], size: int) -> int:
    text = "\0".join((str(seed), *parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=size).digest(), "big")


class RandomStream:
    """Uniform numbers of one stream, in order."""

    __slots__ = ("_generator", "_numbers")

    def __init__(self, seed: int, path: str, kind: str) -> None:
        self._generator = PCG64(_hashed(seed, (path, kind), 16))
        self._numbers: Iterator[int] = iter(())

    def uniform(self) -> float:
        """The next number in [0, 1)."""
        for number in self._numbers:
            return (number >> 11) * _UNIT
        self._numbers = iter(self._generator.random_raw(_BLOCK_NUMBERS).tolist())
        return (next(self._numbers) >> 11) * _UNIT


class RandomStreams:
    """The streams of one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[tuple[str, str], RandomStream] = {}

    def of(self, path: str, kind: str) -> RandomStream:
        """The stream of a path and a kind of draw; the same object at each call."""
        found = self._streams.get((path, kind))
        if found is None:
            found = self._streams[path, kind] = RandomStream(self.seed, path, kind)
        return found

    def keyed(self, path: str, kind: str, key: str) -> float:
        """The number in [0, 1) of an entity such as a pod, whatever the order in which entities are drawn for."""
        return (_hashed(self.seed, (path, kind, key), 8) >> 11) * _UNIT
