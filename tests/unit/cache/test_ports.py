import pytest
from tests.builders import Json, container

from stowplan import api
from stowplan.api import codec
from stowplan.cache.ports import ANY_IP, HostPort, PortTable, host_ports

WEB = HostPort("TCP", 80, ANY_IP)
LOCAL = HostPort("TCP", 80, "10.0.0.1")


def port(number: int, **more: object) -> Json:
    return {"containerPort": number, "hostPort": number, **more}


def test_ports_of_a_pod() -> None:
    sidecar = {**container("s", ports=[port(1)]), "restartPolicy": "Always"}
    fields = {
        "initContainers": [container("i", ports=[port(2)]), sidecar],
        "containers": [container(ports=[port(3, protocol="UDP", hostIP="10.0.0.1"), {"containerPort": 4}])],
    }
    assert host_ports(codec.convert(api.PodSpec, fields)) == (
        HostPort("TCP", 1, ANY_IP),
        HostPort("UDP", 3, "10.0.0.1"),
    )


@pytest.mark.parametrize(
    ("used", "wanted", "expected"),
    [
        (WEB, WEB, True),
        (WEB, LOCAL, True),
        (LOCAL, WEB, True),
        (LOCAL, LOCAL, True),
        (LOCAL, HostPort("TCP", 80, "10.0.0.2"), False),
        (WEB, HostPort("UDP", 80, ANY_IP), False),
        (WEB, HostPort("TCP", 81, ANY_IP), False),
    ],
)
def test_conflicts(used: HostPort, wanted: HostPort, expected: bool) -> None:
    table = PortTable()
    table.shift((used,), 3, 1)
    assert table.conflicts(wanted, 3) is expected
    assert not table.conflicts(wanted, 2)
    assert table.conflicting_slots(wanted).tolist() == ([3] if expected else [])


def test_a_port_is_free_when_its_last_holder_left() -> None:
    table = PortTable()
    for sign, taken in ((1, True), (1, True), (-1, True), (-1, False)):
        table.shift((WEB, LOCAL), 0, sign)
        assert table.conflicts(WEB, 0) is taken
        assert table.conflicting_slots(LOCAL).tolist() == ([0] if taken else [])


def test_suppositions_do_not_count_holders() -> None:
    """Taking one of two holders away frees the port, as in kube-scheduler's dry run, until it is restored."""
    table = PortTable()
    table.shift((WEB,), 0, 1)
    table.shift((WEB,), 0, 1)
    before = table.override((WEB,), 0, taken=False)
    assert not table.conflicts(WEB, 0)
    again = table.override((WEB,), 0, taken=True)
    assert table.conflicts(WEB, 0)
    table.restore((WEB,), 0, again)
    table.restore((WEB,), 0, before)
    table.shift((WEB,), 0, -1)
    assert table.conflicts(WEB, 0)
    table.shift((WEB,), 0, -1)
    assert not table.conflicts(WEB, 0)
