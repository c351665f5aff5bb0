"""tlsConfig and enableHTTPS, against servers that insist."""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import trustme
import uvloop
from tests.builders import World, node, pod
from tests.unit.cluster.certificates import authority, authority_pem, client_pair, server_certificate
from tests.unit.cluster.tls_server import TlsServer
from tests.unit.extender.client.fake_server import FakeServer

from stowplan.config.types import Extender as Entry
from stowplan.config.types import ExtenderTLSConfig
from stowplan.errors import ConfigError
from stowplan.extender.client import build_extenders
from stowplan.extender.client.tls import Tls
from stowplan.extender.client.transport import ExtenderUnreachableError, HttpTransport
from stowplan.framework import Failure
from stowplan.framework.extender import CallExtender

PASSES = {"NodeNames": ["a"]}


@cache
def stranger() -> trustme.CA:
    return trustme.CA()


STRANGER = (lambda made: (made.cert_chain_pems[0].bytes(), made.private_key_pem.bytes()))(stranger().issue_cert("x"))
"""A client certificate of another authority, and its key."""


def server(name: str, *, mutual: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_certificate(name).configure_cert(context)
    if mutual:
        authority().configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def outcome(context: ssl.SSLContext, **entry: Any) -> str:
    """Empty where the extender was asked, else what went wrong."""

    async def run() -> str:
        async with FakeServer(lambda path, request: PASSES, context) as server:
            fields = {"url_prefix": server.prefix, "filter_verb": "filter", "node_cache_capable": True, **entry}
            (extender,) = build_extenders([Entry(**fields)])
            world = World([node("a")])
            call = CallExtender(extender, "filter", world.pod(pod("p")), list(world.cluster.nodes))
            answer = await extender.call(call)
            await extender.close()
            return answer.message if isinstance(answer, Failure) else ""

    return asyncio.run(run())


def tls(**fields: Any) -> dict[str, Any]:
    return {"tls_config": ExtenderTLSConfig(**fields)}


TRIALS = 10
"""The alert of TLS 1.3 arrives before or after the request is written."""


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize(
    ("context", "raw", "fields", "text"),
    [
        (lambda: server("127.0.0.1", mutual=True), b"", {}, "remote error: tls: certificate required"),
        (
            lambda: server("127.0.0.1", mutual=True),
            b"",
            {"cert_data": STRANGER[0], "key_data": STRANGER[1]},
            "remote error: tls: unknown certificate authority",
        ),
        (
            lambda: server("extender.example"),
            b"",
            {"server_name": "other.example"},
            "tls: failed to verify certificate: x509: certificate is valid for extender.example, not other.example",
        ),
        (
            lambda: server("extender.example"),
            b"",
            {},
            "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't "
            "contain any IP SANs",
        ),
        (
            lambda: server("127.0.0.1"),
            b"",
            {"ca_data": stranger().cert_pem.bytes()},
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (lambda: None, b"HTTP/1.1 400 Bad Request\r\n\r\n", {}, "http: server gave HTTP response to HTTPS client"),
        (lambda: None, b"SSH-2.0-OpenSSH\r\n", {}, "tls: first record does not look like a TLS handshake"),
        (lambda: None, b"", {}, "EOF"),
    ],
)
def test_errors_are_in_gos_words(run: Any, context: Any, raw: bytes, fields: dict[str, Any], text: str) -> None:
    async def post(url: str) -> str:
        entry = Entry(url_prefix=url, **tls(**{"ca_data": authority_pem(), **fields}))
        transport = HttpTransport(Tls(entry, "$.extenders[0]", monotonic), {})
        with pytest.raises(ExtenderUnreachableError) as caught:
            await transport.post(url, b"{}", 5.0)
        await transport.close()
        return str(caught.value)

    with TlsServer(context(), raw) as running:
        assert {run(post(running.url)) for _ in range(TRIALS)} == {f'Post "{running.url}": {text}'}


def test_ca_data() -> None:
    assert outcome(server("127.0.0.1"), **tls(ca_data=authority_pem())) == ""
    told = outcome(server("127.0.0.1"), **tls(ca_data=stranger().cert_pem.bytes()))
    assert "tls: failed to verify certificate" in told


def test_ca_file_and_that_data_wins_over_it(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pem", tmp_path / "bad.pem"
    good.write_bytes(authority_pem())
    bad.write_bytes(stranger().cert_pem.bytes())
    assert outcome(server("127.0.0.1"), **tls(ca_file=str(good))) == ""
    assert "tls:" in outcome(server("127.0.0.1"), **tls(ca_file=str(bad)))
    assert outcome(server("127.0.0.1"), **tls(ca_file=str(bad), ca_data=authority_pem())) == ""


def test_server_name() -> None:
    trusted = {"ca_data": authority_pem()}
    assert "tls:" in outcome(server("extender.example"), **tls(**trusted))
    assert outcome(server("extender.example"), **tls(**trusted, server_name="extender.example")) == ""


def test_insecure() -> None:
    assert outcome(server("elsewhere.example"), **tls(insecure=True)) == ""


def test_by_default_the_systems_authorities_are_trusted() -> None:
    assert "tls: failed to verify certificate" in outcome(server("127.0.0.1"))


def test_enable_https_alone_means_no_verification() -> None:
    assert outcome(server("elsewhere.example"), enable_https=True) == ""
    wrong = tls(ca_data=stranger().cert_pem.bytes())
    assert "tls:" in outcome(server("127.0.0.1"), enable_https=True, **wrong)


def test_client_certificate_as_data_and_from_files(tmp_path: Path) -> None:
    chain, key = client_pair()
    (tmp_path / "tls.crt").write_bytes(chain)
    (tmp_path / "tls.key").write_bytes(key)
    trusted = {"ca_data": authority_pem()}
    context = server("127.0.0.1", mutual=True)
    assert outcome(context, **tls(**trusted)) != ""
    assert outcome(context, **tls(**trusted, cert_data=chain, key_data=key)) == ""
    files = {"cert_file": str(tmp_path / "tls.crt"), "key_file": str(tmp_path / "tls.key")}
    assert outcome(context, **tls(**trusted, **files)) == ""


def test_a_client_certificate_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(name: str) -> None:
        pair = client_pair(name)
        chain.write_bytes(pair[0])
        key.write_bytes(pair[1])

    now = [0.0]
    write("old")
    entry = Entry(url_prefix="https://x", **tls(cert_file=str(chain), key_file=str(key), insecure=True))
    made = Tls(entry, "$.extenders[0]", lambda: now[0])
    first = made.context()
    now[0] += 60
    assert made.context() is first
    write("new")
    now[0] += 60
    assert made.context() is not first


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"insecure": True, "ca_data": b"x"},
            "$.extenders[0].tlsConfig: specifying a root certificates file with the insecure flag is not allowed",
        ),
        ({"ca_data": b"x"}, "$.extenders[0].tlsConfig.caData: no PEM certificates"),
        ({"ca_file": "/nowhere/ca.pem"}, "$.extenders[0].tlsConfig.caFile: No such file or directory: /nowhere/ca.pem"),
        ({"cert_data": b"x", "key_data": b"y"}, "$.extenders[0].tlsConfig.certData: unusable certificate or key"),
        ({"cert_data": b"x"}, "$.extenders[0].tlsConfig: a client certificate needs both"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_a_scheduler_does_not_start_with(fields: dict[str, Any], told: str, scheme: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_extenders([Entry(url_prefix=f"{scheme}://x", **tls(**fields))])
    assert str(caught.value).startswith(told)
