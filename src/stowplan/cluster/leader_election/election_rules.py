"""Who leads: the rules of client-go's leader election, without a network.

Candidates share a Lease. Whoever holds it writes to it again and again; the others observe, each on its own clock, how
long it has not changed, and take it over once that is longer than the lease says it lasts. So clocks may differ by any
amount, if only they run at much the same speed. The holder itself stops well before: to it, the lease is good for
`renewDeadline` from when the last renewal was sent, which is shorter.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from stowplan.api import LeaseSpec
from stowplan.config.types import LeaderElection

_NOBODY = LeaseSpec()
_NEVER = float("-inf")


class ElectionRules:
    """One candidate and what it knows of the lease. Any thread may ask it whether it leads."""

    def __init__(
        self,
        identity: str,
        settings: LeaderElection,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        """`clock` is one that nobody sets; `wall` tells the time to write down for people to read."""
        self.identity = identity
        self._settings = settings
        self._clock = clock
        self._wall = wall
        self._observed = _NOBODY
        self._observed_at = clock()
        self._leads_until = _NEVER
        self._has_resigned = False

    @property
    def leader(self) -> str:
        """The holder as last seen, empty if there is none."""
        return self._observed.holder_identity or ""

    def is_leader(self) -> bool:
        """Whether the lease is ours and safe to act on at this moment."""
        return self._clock() < self._leads_until and not self._has_resigned

    def is_holder(self) -> bool:
        """Whether the lease was ours when last seen, be it expired by now."""
        return self.leader == self.identity

    def expires_in(self) -> float:
        """The seconds until the lease as last seen ends, if nobody renews it; not above 0 if it has, or is nobody's."""
        return self._observed_at + (self._observed.lease_duration_seconds or 0) - self._clock() if self.leader else 0.0

    def overdue(self) -> float:
        """The seconds for which a lease that was ours when last seen has been expired; 0 if it was not, or is not."""
        return max(-self.expires_in(), 0.0) if self.is_holder() else 0.0

    def renewal(self) -> LeaseSpec | None:
        """What the holder writes without looking first; None if it has to look."""
        if not self.is_holder() or self._has_expired():
            return None
        return self._renewed(self._observed)

    def claim(self, found: LeaseSpec | None) -> LeaseSpec | None:
        """What to write into a lease that was read, None standing for no lease; None if another holds it."""
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
        """The lease is ours, by a request that was sent at this time."""
        self._observe(spec)
        # Fractions of a second do not fit into a lease, so a very short one may end before the deadline.
        lasts = float(spec.lease_duration_seconds or 0)
        self._leads_until = sent_at + min(self._settings.renew_deadline.seconds, lasts)

    def resign(self) -> None:
        """Act on the lease no more, whatever still comes of requests under way."""
        self._has_resigned = True

    def release(self, found: LeaseSpec) -> LeaseSpec | None:
        """What the holder writes to hand the lease on at once; None if it is not ours to hand on."""
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
