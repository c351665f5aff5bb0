import gc
import weakref
from collections.abc import Iterator

from tests.unit.plugins.dynamic_resources.allocation.supply import Supply, device, node_info, slice_

from stowplan.cel import DeviceSelectorProgram
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.inventory import Inventory


def test_pools_are_gathered_once_and_again_where_a_change_concerns_them() -> None:
    supply = Supply(slice_("s", device("a"), pool="n"), slice_("t", device("b"), pool="m", nodeName="m"))
    inventory = Inventory(supply.slices)
    first, second = inventory.pools(node_info("n")), inventory.pools(node_info("m"))
    supply.publish(slice_("t", device("c"), pool="m", nodeName="m"))
    assert inventory.pools(node_info("n")) is first
    assert inventory.pools(node_info("m")) is not second
    supply.publish(slice_("u", device("d"), pool="u", allNodes=True))
    assert inventory.pools(node_info("n")) is not first
    supply.slices.remove("u")
    pools = inventory.pools(node_info("n"))
    assert not isinstance(pools, str)
    assert [candidate.spec.name for candidate, _ in pools.candidates] == ["a"]


def test_labels_decide_where_slices_are_for_several_nodes() -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
    inventory = Inventory(Supply(slice_("s", device("a"), nodeSelector=terms)).slices)
    assert not inventory.pools(node_info()).candidates  # type: ignore[union-attr]
    assert inventory.pools(node_info(zone="z")).candidates  # type: ignore[union-attr]


def test_a_slice_that_joins_a_pool_concerns_the_other_nodes_of_the_pool() -> None:
    supply = Supply(slice_("s", device("a"), count=2))
    inventory = Inventory(supply.slices)
    assert not inventory.pools(node_info()).candidates  # type: ignore[union-attr]
    supply.publish(slice_("t", device("b"), count=2, nodeName="m"))
    assert inventory.pools(node_info()).candidates  # type: ignore[union-attr]
    assert list(inventory.nodes_using(("d", "p"))) == ["n"]


def test_slices_are_in_the_store_s_order_whatever_changed_before() -> None:
    supply = Supply(*(slice_(f"s{number}", device("a")) for number in range(20)))
    inventory = Inventory(supply.slices)
    inventory.refresh()
    supply.slices.remove("s3")
    for name in ("s3", "s7", "s20"):
        supply.publish(slice_(name, device("b")))
    for followed in (inventory, Inventory(supply.slices)):
        followed.refresh()
        assert [item.name for item in followed._by_pool["d", "p"]] == list(supply.slices.items())


def test_devices_do_not_keep_the_selectors_of_all_claims_that_ever_were() -> None:
    pools = Inventory(Supply(slice_("s", device("a"), pool="n")).slices).pools(node_info("n"))
    assert not isinstance(pools, str)
    ((candidate, _),) = pools.candidates
    programs = [weakref.ref(program) for program in _evaluated(candidate, 1000)]
    gc.collect()
    assert sum(program() is not None for program in programs) <= 256


def _evaluated(candidate: PublishedDevice, count: int) -> Iterator[DeviceSelectorProgram]:
    for number in range(count):
        program = DeviceSelectorProgram(f"{number} >= 0")
        assert candidate.verdict(program) is True
        yield program
