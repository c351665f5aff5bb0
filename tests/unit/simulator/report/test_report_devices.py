from tests.builders import make
from tests.unit.simulator.runs import Run
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan.simulator.report.report import devices_of
from stowplan.simulator.report.tables import TableStyle, tables


def claim(name: str, *devices: str, user: str) -> object:
    results = [{"request": "r", "driver": "d", "pool": "a", "device": device} for device in devices]
    status = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": user, "uid": f"uid-{user}"}],
    }
    return make("ResourceClaim", name, status=status)


def test_devices_are_told_of_in_wide_tables_where_there_are_any() -> None:
    def lines(*items: object, wide: bool) -> list[str]:
        return [line.plain for line in tables(Run(node("a"), *items).report(), TableStyle(wide=wide))]

    entries = [{"name": name, "resourceClaimName": name} for name in ("c", "d")]
    running = pod("p", "a", uid="uid-p", resourceClaims=entries)
    items = (running, claim("c", "x", user="p"), claim("d", "y", "z", user="p"), pod("q"))
    told = lines(*items, wide=True)
    assert told[0].endswith("DEVICES")
    assert told[1].endswith("a/x, a/y, a/z")
    assert told[2].endswith("-")
    assert "DEVICES" not in "".join(lines(*items, wide=False))
    assert "DEVICES" not in "".join(lines(pod("q"), wide=True))


def test_a_claim_without_devices_gives_none() -> None:
    run = Run(node("a"), make("ResourceClaim", "c"), claim("d", "x", user="p"))
    assert devices_of(run.simulation.api_server) == {"uid-p": ("a/x",)}
