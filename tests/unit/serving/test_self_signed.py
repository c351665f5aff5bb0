import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from stowplan.serving.self_signed import make_self_signed, make_self_signed_in_child


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


def test_a_server_certificate_of_its_own_authority() -> None:
    made = make_self_signed("localhost", ["127.0.0.1"])
    certificate = x509.load_pem_x509_certificate(made.certificate)
    key = serialization.load_pem_private_key(made.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"
    assert certificate.public_key() == key.public_key()
    assert certificate.subject == certificate.issuer
    certificate.verify_directly_issued_by(certificate)
    assert certificate.subject.rfc4514_string().startswith("CN=localhost@")
    extensions = certificate.extensions
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.digital_signature, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, False)


def test_the_process_of_a_server_does_not_load_the_library() -> None:
    script = """
import sys
from stowplan.serving.self_signed import make_self_signed_in_child
made = make_self_signed_in_child("localhost", ["127.0.0.1"])
assert made.certificate.startswith(b"-----BEGIN CERTIFICATE-----")
assert made.key.startswith(b"-----BEGIN EC PRIVATE KEY-----")
assert "cryptography" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("executable", ["", "/nowhere/python", "/bin/true", "/bin/false"])
def test_without_a_second_process_the_certificate_is_made_in_this_one(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    made = make_self_signed_in_child("localhost", ["127.0.0.1"])
    assert made.certificate.startswith(b"-----BEGIN CERTIFICATE-----")
