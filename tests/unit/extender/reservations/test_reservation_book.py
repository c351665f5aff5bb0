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
    holding, keeper = ReservationBook(), Keeper(None, None)
    holding.adopt(keeper)
    holding.adopt(Careless(None, None))
    keeper.gpus.reserve("a", "n1", 1)
    keeper.ports.reserve("a", "n1", 80)
    keeper.gpus.reserve("b", "n1", 2)
    return holding, keeper


def test_reservations_are_found_in_plugins() -> None:
    holding, _ = make()
    assert holding.count() == {"Keeper": 3}
    assert ReservationBook().count() == {}


def test_what_ends_them() -> None:
    holding, keeper = make()
    holding.bound("a")
    assert holding.count() == {"Keeper": 1}
    holding.gone("b")
    assert holding.count() == {"Keeper": 0}
    assert holding.ended()["Keeper", "confirmed"] == 2
    assert holding.ended()["Keeper", "released"] == 1
    keeper.gpus.reserve("c", "n1", 3)
    holding.clear()
    assert keeper.gpus.of("c") is None


def test_a_pod_that_is_filtered_anew() -> None:
    from stowplan import api
    from stowplan.cache import Cluster

    holding, keeper = make()
    pod = Cluster().pod(api.Pod(metadata=api.ObjectMeta(name="a", namespace="d", uid="a")))
    holding.restart(pod)
    assert keeper.gpus.of("a") is None
    assert keeper.gpus.of("b") is not None
