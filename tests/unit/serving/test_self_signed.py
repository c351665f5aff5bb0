import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stowplan.serving.self_signed import _BASE, _N, _P, _add, _multiply, make_self_signed


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """A TLS handshake in memory; the certificate that the client has verified."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(4):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    certificate = theirs.getpeercert()
    assert certificate is not None
    return dict(certificate)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_client_that_trusts_it_can_verify_it(tmp_path: Path, name: str) -> None:
    made = make_self_signed("localhost", ["127.0.0.1", "::1"])
    pair = tmp_path / "pair.pem"
    pair.write_bytes(made.certificate + made.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    client = ssl.create_default_context(cadata=made.certificate.decode())
    assert handshake(server, client, name)["subjectAltName"] == (
        ("DNS", "localhost"),
        ("IP Address", "127.0.0.1"),
        ("IP Address", "0:0:0:0:0:0:0:1"),
    )


def test_another_name_is_not_verified(tmp_path: Path) -> None:
    made = make_self_signed("localhost", [])
    pair = tmp_path / "pair.pem"
    pair.write_bytes(made.certificate + made.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, ssl.create_default_context(cadata=made.certificate.decode()), "example.com")


def test_good_for_a_year(tmp_path: Path) -> None:
    made = make_self_signed("localhost", [], datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    pem = tmp_path / "certificate.pem"
    pem.write_bytes(made.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(pem)
    (certificate,) = context.get_ca_certs()
    assert certificate["notBefore"] == "Jan  2 02:04:05 2030 GMT"
    assert certificate["notAfter"] == "Jan  2 02:04:05 2031 GMT"


def test_no_two_are_alike() -> None:
    assert make_self_signed("localhost", []).key != make_self_signed("localhost", []).key


def test_the_curve_is_p256() -> None:
    x, y = _BASE
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    assert (y * y - (x * x * x - 3 * x + b)) % _P == 0
    opposite = _multiply(_N - 1, _BASE)
    assert opposite == (x, _P - y)
    assert _multiply(5, _BASE) == _add(_multiply(2, _BASE), _multiply(3, _BASE))
