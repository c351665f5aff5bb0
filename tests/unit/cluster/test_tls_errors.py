"""Texts of TLS errors are Go's, as a client in Go prints them in front of the same servers."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.cluster.certificates import authority, authority_pem, server_certificate
from tests.unit.cluster.tls_server import TlsServer

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import ConnectionFailedError
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.tls import Trust
from stowplan.cluster.tls_errors import tls_error_text, verification_text

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def certificate(*names: str, common_name: str = "", days: tuple[int, int] = (-1, 1)) -> x509.Certificate:
    """Valid between so many days from now; without names it has no SAN extension."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)] if common_name else [])
    begin, end = (NOW + timedelta(days=each) for each in days)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, begin, end)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
    return builder.sign(key, hashes.SHA256())


def _name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if name[-1].isdigit() else x509.DNSName(name)


@pytest.mark.parametrize(
    ("names", "host", "text"),
    [
        (["a.example"], "a.example", ""),
        (["*.example"], "A.example", ""),
        (["10.0.0.1", "::1"], "::1", ""),
        (["*.example"], "a.b.example", "certificate is valid for *.example, not a.b.example"),
        (["a.example", "b.example"], "c.example", "certificate is valid for a.example, b.example, not c.example"),
        (["a.example"], "10.0.0.1", "cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs"),
        (["10.0.0.1", "::1"], "10.0.0.2", "certificate is valid for 10.0.0.1, ::1, not 10.0.0.2"),
        (["10.0.0.1"], "a.example", "certificate is not valid for any names, but wanted to match a.example"),
        ([], "a.example", "certificate is not valid for any names, but wanted to match a.example"),
        ([], "old.example", "certificate relies on legacy Common Name field, use SANs instead"),
        ([f"n{i}x" for i in range(100)], "a", "certificate is valid for 100 names, but none matched a"),
    ],
)
def test_names(names: list[str], host: str, text: str) -> None:
    made = certificate(*names, common_name="old.example")
    assert verification_text([made], host, NOW) == (f"x509: {text}" if text else "")


def test_times_come_before_names_and_those_of_intermediates_after() -> None:
    expired = "x509: certificate has expired or is not yet valid: current time 2026-05-04T03:02:01Z is "
    past, future, valid = certificate("a", days=(-9, -3)), certificate("a", days=(1, 9)), certificate("a")
    assert verification_text([past, valid], "b", NOW) == f"{expired}after 2026-05-01T03:02:01Z"
    assert verification_text([future], "b", NOW) == f"{expired}before 2026-05-05T03:02:01Z"
    assert verification_text([valid, past], "b", NOW) == "x509: certificate is valid for a, not b"
    assert verification_text([valid, past], "a", NOW) == f"{expired}after 2026-05-01T03:02:01Z"
    assert verification_text([], "a", NOW) == ""


def test_other_errors_have_no_text() -> None:
    assert tls_error_text(None) == tls_error_text(PermissionError(1, "Operation not permitted")) == ""


def context(made: trustme.LeafCert, *, mutual: bool = False, **options: Any) -> ssl.SSLContext:
    made_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.configure_cert(made_context)
    if mutual:
        authority().configure_trust(made_context)
        made_context.verify_mode = ssl.CERT_REQUIRED
    for option, value in options.items():
        setattr(made_context, option, value)
    return made_context


def local(**options: Any) -> ssl.SSLContext:
    return context(server_certificate("127.0.0.1"), **options)


PAST = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2021, 1, 1, tzinfo=UTC)}
UNTRUSTED = "the server's certificate is not trusted: x509: "


@pytest.mark.parametrize(
    ("server", "text"),
    [
        (lambda: TlsServer(local(mutual=True)), "remote error: tls: certificate required"),
        (
            lambda: TlsServer(local(mutual=True, maximum_version=ssl.TLSVersion.TLSv1_2)),
            "remote error: tls: handshake failure",
        ),
        (
            lambda: TlsServer(context(trustme.CA().issue_cert("127.0.0.1"))),
            f"{UNTRUSTED}certificate signed by unknown authority",
        ),
        (
            lambda: TlsServer(context(trustme.CA().issue_cert("x.example"))),
            f"{UNTRUSTED}cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
        ),
        (
            lambda: TlsServer(context(server_certificate("10.0.0.1"))),
            f"{UNTRUSTED}certificate is valid for 10.0.0.1, not 127.0.0.1",
        ),
        (
            lambda: TlsServer(context(authority().issue_cert("127.0.0.1", **PAST))),
            f"{UNTRUSTED}certificate has expired or is not yet valid: current time NOW is after 2021-01-01T00:00:00Z",
        ),
        (
            lambda: TlsServer(None, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "http: server gave HTTP response to HTTPS client",
        ),
        (lambda: TlsServer(None, b"SSH-2.0-OpenSSH\r\n"), "tls: first record does not look like a TLS handshake"),
    ],
)
def test_the_api_server_client(server: Any, text: str) -> None:
    with server() as running:
        assert told_by(running) == f"{running.url}: {text}"


def told_by(running: TlsServer) -> str:
    async def main(url: str) -> None:
        trust = Trust(CredentialSource("ca", data=authority_pem()))
        client = Client(Connection(url, StoredCredentials(), trust=trust))
        try:
            await client.get("/version")
        finally:
            await client.close()

    with pytest.raises(ConnectionFailedError) as caught:
        asyncio.run(main(running.url))
    return re.sub(r"current time \S+", "current time NOW", str(caught.value))


def test_a_certificate_that_cannot_be_read_is_reported_without_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> str:
        raise ValueError("odd encoding")

    monkeypatch.setattr("stowplan.cluster.tls_errors.verification_text", fail)
    with TlsServer(context(trustme.CA().issue_cert("x.example"))) as running:
        assert told_by(running) == f"{running.url}: {UNTRUSTED}certificate signed by unknown authority"
