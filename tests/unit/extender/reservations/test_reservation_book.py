from typing import Any

from stowplan import Plugin
from stowplan.extender.reservations import ReservationBook, Reservations


class Keeper(Plugin):
    name = "Keeper"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.gpus = Reservations[int]()
        self.ports = Reservations[int]()
        self.unrelated = {}


class Careless(Plugin):
    name = "Careless"


def make() -> tuple[ReservationBook, Keeper]:
    reservations, keeper = ReservationBook(), Keeper(None, None)
    reservations.adopt(keeper)
    reservations.adopt(Careless(None, None))
    keeper.gpus.reserve("a", "n1", 1)
    keeper.ports.reserve("a", "n1", 80)
    keeper.gpus.reserve("b", "n1", 2)
    return reservations, keeper


def test_reservations_are_found_in_plugins() -> None:
    reservations, _ = make()
    assert reservations.count() == {"Keeper": 3}
    assert ReservationBook().count() == {}


def test_what_ends_them() -> None:
    reservations, keeper = make()
    reservations.bound("a")
    assert reservations.count() == {"Keeper": 1}
    reservations.gone("b")
    assert reservations.count() == {"Keeper": 0}
    assert reservations.ended()["Keeper", "confirmed"] == 2
    assert reservations.ended()["Keeper", "released"] == 1
    keeper.gpus.reserve("c", "n1", 3)
    reservations.clear()
    assert keeper.gpus.of("c") is None


def test_a_pod_that_is_filtered_anew() -> None:
    from stowplan import api
    from stowplan.cache import Cluster

    reservations, keeper = make()
    pod = Cluster().pod(api.Pod(metadata=api.ObjectMeta(name="a", namespace="d", uid="a")))
    reservations.restart(pod)
    assert keeper.gpus.of("a") is None
    assert keeper.gpus.of("b") is not None
