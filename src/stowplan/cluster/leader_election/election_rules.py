"""Rules of leader election, without a network.

Candidates share a Lease. The holder renews it; the others measure, each on its own clock, how long it has not changed,
and take it over after `leaseDuration`. So clocks may differ by any amount if they run at about the same speed. The
holder stops earlier: for it, the lease is valid for `renewDeadline` from sending the last renewal.

Upstream: k8s.io/client-go/tools/leaderelection/leaderelection.go
"""

from collections.abc import Callable
from datetime import UTC, datetime

from stowplan.api import LeaseSpec
from stowplan.config.types import LeaderElection

_NO_HOLDER = LeaseSpec()
_NEVER = float("-inf")


class ElectionRules:
    """One candidate and the lease as it last observed it. `is_leader` may be called from any thread."""

    def __init__(
        self,
        identity: str,
        settings: LeaderElection,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        """`clock` is monotonic; `wall` gives the timestamps in the Lease."""
        self.identity = identity
        self._settings = settings
        self._clock = clock
        self._wall = wall
        self._observed = _NO_HOLDER
        self._observed_at = clock()
        self._leads_until = _NEVER
        self._has_resigned = False

    @property
    def leader(self) -> str:
        """The observed holder; empty if there is none."""
        return self._observed.holder_identity or ""

    def is_leader(self) -> bool:
        """Whether this candidate holds the lease and may act now."""
        return self._clock() < self._leads_until and not self._has_resigned

    def is_holder(self) -> bool:
        """Whether this candidate is the observed holder, even if the lease has expired."""
        return self.leader == self.identity

    def expires_in(self) -> float:
        """Seconds until the observed lease expires without renewal; 0 or less if it has, or has no holder."""
        return self._observed_at + (self._observed.lease_duration_seconds or 0) - self._clock() if self.leader else 0.0

    def overdue(self) -> float:
        """Seconds since a lease of this candidate expired; 0 otherwise."""
        return max(-self.expires_in(), 0.0) if self.is_holder() else 0.0

    def renewal(self) -> LeaseSpec | None:
        """The spec of an optimistic renewal, without reading the Lease; None if it must be read."""
        if not self.is_holder() or self._has_expired():
            return None
        return self._renewed(self._observed)

    def claim(self, found: LeaseSpec | None) -> LeaseSpec | None:
        """The spec that claims the Lease as read (None: it does not exist); None if another candidate holds it."""
        if found is None:
            return self._claim(0)
        if found != self._observed:
            self._observe(found)
        if self.is_holder():
            return self._renewed(found)
        if found.holder_identity and not self._has_expired():
            return None
        return self._claim((found.lease_transitions or 0) + 1)

    def wrote(self, spec: LeaseSpec, sent_at: float) -> None:
        """This candidate wrote the lease, with a request sent at this time."""
        self._observe(spec)
        # A Lease has whole seconds, so a very short one may end before the deadline.
        lasts = float(spec.lease_duration_seconds or 0)
        self._leads_until = sent_at + min(self._settings.renew_deadline.seconds, lasts)

    def resign(self) -> None:
        """Stop leading, whatever requests under way return."""
        self._has_resigned = True

    def release(self, found: LeaseSpec) -> LeaseSpec | None:
        """The spec that releases the Lease; None if this candidate does not hold it."""
        if found != self._observed:
            self._observe(found)
        if not self.is_holder():
            return None
        now = self._now()
        return LeaseSpec(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=now,
            renew_time=now,
            lease_transitions=found.lease_transitions or 0,
        )

    def _observe(self, spec: LeaseSpec) -> None:
        self._observed, self._observed_at = spec, self._clock()
        if not self.is_holder():
            self._leads_until = _NEVER

    def _has_expired(self) -> bool:
        return self._observed_at + (self._observed.lease_duration_seconds or 0) <= self._clock()

    def _claim(self, transitions: int) -> LeaseSpec:
        now = self._now()
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self._settings.lease_duration.seconds),
            acquire_time=now,
            renew_time=now,
            lease_transitions=transitions,
        )

    def _renewed(self, held: LeaseSpec) -> LeaseSpec:
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self._settings.lease_duration.seconds),
            acquire_time=held.acquire_time,
            renew_time=self._now(),
            lease_transitions=held.lease_transitions or 0,
        )

    def _now(self) -> str:
        return f"{datetime.fromtimestamp(self._wall(), UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
