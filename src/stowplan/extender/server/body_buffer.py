"""Memory for request bodies: it follows the bytes received, not the announced length, within a budget for all
connections.

A body of tens of megabytes is read from the socket into the memory in which it is parsed. The memory doubles as bytes
arrive, so a client that announces a large body and sends nothing costs no more than the first step. Large memory is
kept for the connection's next body, since fresh pages cost more than the bytes received into them, and is freed when
the budget runs short.
"""

from __future__ import annotations

import sys

from stowplan.errors import StowplanError

FIRST_STEP_BYTES = 256 * 1024
"""Allocated at the start of a body. Bodies up to this size are handed on as bytes; copying them is cheap."""
_ZEROS = bytes(FIRST_STEP_BYTES)
_OWN_REFERENCES = 2
"""References to memory that no request uses any more: the variable and the argument of getrefcount."""


class OverBudgetError(StowplanError):
    """All connections together hold the bytes that the server may keep."""


class BodyBudget:
    """Bytes that the bodies of all connections may occupy."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._reusable: dict[BodyBuffer, None] = {}
        """Buffers that keep memory for a next body, the oldest first."""

    def take(self, count: int) -> None:
        """Raises OverBudgetError if the bytes are not available, even after reusable memory was freed."""
        while self.used_bytes + count > self.max_bytes and self._reusable:
            next(iter(self._reusable)).free()
        if self.used_bytes + count > self.max_bytes:
            raise OverBudgetError(f"requests in progress hold the {self.max_bytes:,} bytes that are kept for bodies")
        self.used_bytes += count

    def give_back(self, count: int) -> None:
        self.used_bytes -= count

    def mark_reusable(self, buffer: BodyBuffer) -> None:
        self._reusable[buffer] = None

    def mark_used(self, buffer: BodyBuffer) -> None:
        self._reusable.pop(buffer, None)


class BodyBuffer:
    """The memory of one connection's bodies, one body at a time."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._memory = bytearray()
        self._length = 0
        self._filled = 0
        self._reserved = 0

    @property
    def complete(self) -> bool:
        return self._filled == self._length

    def begin(self, length: int, first: bytes | bytearray) -> None:
        """Start a body of that length with its first bytes. Raises OverBudgetError."""
        self._budget.mark_used(self)
        step = min(length, max(FIRST_STEP_BYTES, 2 * len(first)))
        if not self._reuse(length):
            self._memory = bytearray()
            self.reserve(step)
            self._grow(step)
        self._length, self._filled = length, len(first)
        self._memory[: len(first)] = first

    def room(self) -> memoryview:
        """Memory for the next bytes. Must not be called while an earlier view is in use."""
        if self._filled == len(self._memory) < self._reserved:
            self._grow(self._reserved)
        return memoryview(self._memory)[self._filled :]

    def received(self, count: int) -> None:
        """Bytes were written into `room`. Raises OverBudgetError if there cannot be more room."""
        self._filled += count
        if self._filled == len(self._memory) and not self.complete:
            self.reserve(min(self._length, 2 * self._filled))

    def take(self) -> bytes | bytearray:
        """The complete body."""
        return bytes(self._memory) if self._length <= FIRST_STEP_BYTES else self._memory

    def reserve(self, count: int) -> None:
        """Account for `count` bytes in all; memory is allocated by `room`. Raises OverBudgetError."""
        if count > self._reserved:
            self._budget.take(count - self._reserved)
            self._reserved = count

    def finish(self) -> None:
        """The body was answered or given up: keep large memory for the next one."""
        if len(self._memory) > FIRST_STEP_BYTES:
            self._reserve_exactly(len(self._memory))
            self._budget.mark_reusable(self)
        else:
            self.free()

    def free(self) -> None:
        self._budget.mark_used(self)
        self._memory = bytearray()
        self._reserve_exactly(0)

    def _reserve_exactly(self, count: int) -> None:
        self._budget.give_back(self._reserved - count)
        self._reserved = count

    def _reuse(self, length: int) -> bool:
        """Whether the last body's memory fits, and no plugin that was given up still reads it."""
        memory = self._memory
        if sys.getrefcount(memory) > _OWN_REFERENCES + 1 or not length / 1.1 < len(memory) < 2 * length:
            self.free()
            return False
        try:
            del memory[length:]
        except BufferError:  # A view of it is left.
            self.free()
            return False
        del memory
        self.reserve(length)
        self._grow(length)
        return True

    def _grow(self, size: int) -> None:
        memory = self._memory
        try:
            while len(memory) < size:
                memory += _ZEROS[: size - len(memory)]
        except BufferError:  # The event loop still holds a view.
            larger = bytearray(size)
            larger[: self._filled] = memory[: self._filled]
            self._memory = larger
