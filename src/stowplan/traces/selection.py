"""Options that all loaders share: the part of a trace that is used, and the pace of its arrivals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from stowplan.traces.records import Arrival

_HASH_RANGE = 1 << 64


class TraceSelection(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a trace."""

    from_: Annotated[float, Meta(ge=0)] = msgspec.field(default=0.0, name="from")
    """Seconds of the trace that are skipped; later arrivals are that much earlier."""
    to: Annotated[float, Meta(ge=0)] | None = None
    """Seconds of the trace after which arrivals are left out."""
    limit: Annotated[int, Meta(ge=1)] | None = None
    """Number of arrivals, at most."""
    sample: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Share of the jobs, chosen by a hash of their names."""
    rate: Annotated[float, Meta(gt=0)] = 1.0
    """Factor of the arrival rate; durations stay as they are."""

    def select(self, arrivals: Iterator[Arrival]) -> Iterator[Arrival]:
        """The selected arrivals, with times from the start of the selection."""
        count = 0
        for arrival in arrivals:
            if arrival.time < self.from_ or (self.sample < 1 and not self._sampled(arrival.job)):
                continue
            if (self.to is not None and arrival.time >= self.to) or (self.limit is not None and count >= self.limit):
                return
            count += 1
            time = (arrival.time - self.from_) / self.rate
            yield arrival if time == arrival.time else arrival._replace(time=time)

    def _sampled(self, job: str) -> bool:
        digest = hashlib.blake2b(job.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.sample * _HASH_RANGE
