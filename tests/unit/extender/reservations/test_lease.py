"""Standing for the lease again and again, with electors that do as they are told."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stowplan.config.types import LeaderElection
from stowplan.extender.reservations import ReservationLease, lease
from stowplan.testing import wait_until


class ElectorThread:
    """Leads from `win` to `lose`."""

    made: list["ElectorThread"]

    def __init__(
        self,
        connection: Any,
        settings: Any,
        *,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        **_: Any,
    ) -> None:
        self.on_started, self.on_stopped = on_started, on_stopped
        self.leads = self.stopped = False
        self.made.append(self)

    def start(self) -> None: ...

    def is_leader(self) -> bool:
        return self.leads

    def win(self) -> None:
        self.leads = True
        self.on_started()

    def lose(self) -> None:
        self.leads = False
        self.on_stopped()

    def stop(self, timeout: float) -> None:
        self.leads, self.stopped = False, True


@pytest.fixture
def electors(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ElectorThread]]:
    ElectorThread.made = []
    monkeypatch.setattr(lease, "ElectorThread", ElectorThread)
    return ElectorThread.made


def test_it_stands_again_after_a_loss(electors: list[ElectorThread]) -> None:
    losses: list[bool] = []
    holder = ReservationLease(None, LeaderElection(), on_lost=lambda: losses.append(True))  # type: ignore[arg-type]
    assert not holder.holds()
    holder.start()
    wait_until(lambda: len(electors) == 1)
    assert not holder.holds()
    electors[0].win()
    assert holder.holds()
    electors[0].lose()
    wait_until(lambda: len(electors) == 2)
    assert (losses, electors[0].stopped, holder.holds()) == ([True], True, False)
    electors[1].win()
    assert holder.holds()
    holder.stop()
    assert (losses, electors[1].stopped, holder.holds()) == ([True], True, False)
    assert len(electors) == 2
