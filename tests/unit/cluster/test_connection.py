import asyncio
import ssl
from pathlib import Path

import pytest
from tests.unit.cluster.certificates import authority_pem, client_pair

from stowplan.cluster.connection import USER_AGENT, Connection, Identity
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.tls import Certificate, Trust


class _Credentials:
    def __init__(self, *identities: Identity, renewable: bool = True) -> None:
        self._identities = list(identities)
        self.renewable = renewable
        self.asked = 0

    def obtain(self) -> Identity:
        self.asked += 1
        if not self._identities:
            raise CredentialsError("none left")
        return self._identities.pop(0)


def _bearer(token: str, expires: float = float("inf")) -> Identity:
    return Identity({"Authorization": f"Bearer {token}"}, None, expires)


@pytest.mark.parametrize(
    ("url", "host", "port", "prefix"),
    [
        ("https://api.example.com", "api.example.com", 443, ""),
        ("https://10.0.0.1:6443/", "10.0.0.1", 6443, ""),
        ("http://localhost:8080", "localhost", 8080, ""),
        ("http://localhost", "localhost", 80, ""),
        ("https://[fd00::1]:6443", "fd00::1", 6443, ""),
        ("https://rancher.example.com/k8s/clusters/c-1/", "rancher.example.com", 443, "/k8s/clusters/c-1"),
    ],
)
def test_the_parts_of_the_address(url: str, host: str, port: int, prefix: str) -> None:
    connection = Connection(url, _Credentials())
    assert (connection.host, connection.port, connection.prefix) == (host, port, prefix)
    assert not connection.url.endswith("/")


def test_the_user_agent_names_program_and_part() -> None:
    assert USER_AGENT.startswith("stowplan/")
    assert USER_AGENT.endswith(" scheduler")


def test_a_login_holds_until_it_expires() -> None:
    now = 0.0
    credentials = _Credentials(_bearer("one", 100.0), _bearer("two"))
    connection = Connection("http://x", credentials, clock=lambda: now)
    assert connection.current() is None
    first = connection.renew()
    now = 99.0
    assert connection.current() is first
    assert asyncio.run(connection.login()) is first
    now = 100.0
    assert connection.current() is None
    assert asyncio.run(connection.login()).headers == {"Authorization": "Bearer two"}
    assert credentials.asked == 2


def test_a_refused_login_is_renewed_once_for_all() -> None:
    credentials = _Credentials(_bearer("one"), _bearer("two"))
    connection = Connection("http://x", credentials)
    first = connection.renew()
    assert connection.invalidate(first)
    second = connection.renew()
    assert connection.invalidate(first), "somebody else was refused with the first one too"
    assert connection.renew() is second
    assert credentials.asked == 2


def test_credentials_that_cannot_change_are_not_asked_again() -> None:
    credentials = _Credentials(_bearer("one"), renewable=False)
    connection = Connection("http://x", credentials)
    login = connection.renew()
    assert not connection.invalidate(login)
    assert connection.current() is login


def test_no_credentials_no_login() -> None:
    with pytest.raises(CredentialsError, match="none left"):
        asyncio.run(Connection("http://x", _Credentials()).login())


def test_one_context_as_long_as_its_parts_stay_the_same(tmp_path: Path) -> None:
    now = 0.0
    ca = tmp_path / "ca.crt"
    ca.write_bytes(authority_pem())
    certificate = Certificate(*client_pair(), "user")
    other = Certificate(*client_pair("other"), "user")
    same = Certificate(*client_pair(), "user")
    identities = [Identity({}, certificate, 10.0), Identity({}, same, 20.0), Identity({}, other), Identity({}, other)]
    trust = Trust(CredentialSource("ca", path=str(ca)))
    connection = Connection("https://x", _Credentials(*identities), trust=trust, clock=lambda: now)
    first = connection.renew()
    now = 10.0
    second = connection.renew()
    assert second is not first
    assert second.tls is first.tls
    now = 20.0
    third = connection.renew()
    assert third.tls is not first.tls
    ca.write_bytes(authority_pem() * 2)
    assert connection.current() is third
    now = 71.0
    assert isinstance(connection.renew().tls, ssl.SSLContext)
    assert connection.renew().tls is not third.tls


def test_plain_http_needs_no_context() -> None:
    assert Connection("http://x", _Credentials(_bearer("one"))).renew().tls is None


def test_nothing_secret_in_texts() -> None:
    connection = Connection(
        "http://x", _Credentials(_bearer("secret")), trust=Trust(CredentialSource("ca", data=b"secret"))
    )
    assert "secret" not in repr(connection)
    assert "secret" not in repr(connection.trust)
