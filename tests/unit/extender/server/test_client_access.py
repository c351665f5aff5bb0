from typing import Any

import pytest

from stowplan.extender.server.client_access import Access, names_of

CERTIFICATE: dict[str, Any] = {
    "subject": ((("organizationName", "masters"),), (("commonName", "system:kube-scheduler"),)),
    "subjectAltName": (("DNS", "scheduler.local"), ("IP Address", "10.0.0.1"), ("DirName", "x")),
}


def test_names() -> None:
    assert names_of(CERTIFICATE) == ["system:kube-scheduler", "scheduler.local", "10.0.0.1"]
    assert names_of({}) == []


@pytest.mark.parametrize(
    ("allowed", "certificate", "status"),
    [
        ((), CERTIFICATE, None),
        ((), None, 401),
        ((), {}, 401),
        (("system:kube-scheduler",), CERTIFICATE, None),
        (("other", "scheduler.local"), CERTIFICATE, None),
        (("masters",), CERTIFICATE, 403),
        (("other",), CERTIFICATE, 403),
    ],
)
def test_with_an_authority(allowed: tuple[str, ...], certificate: Any, status: int | None) -> None:
    refusal = Access(required=True, allowed_names=allowed).refusal(certificate)
    assert (refusal and refusal[0]) == status


def test_without_an_authority_everybody_may_ask() -> None:
    assert Access(required=False).refusal(None) is None


def test_the_names_are_told() -> None:
    refusal = Access(required=True, allowed_names=["other"]).refusal(CERTIFICATE)
    assert refusal is not None
    assert "system:kube-scheduler, scheduler.local, 10.0.0.1" in refusal[1]
