"""Self-signed certificates, for a server that was given none.

Upstream: k8s.io/client-go/util/cert/cert.go
"""

from __future__ import annotations

import ipaddress
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_CHILD_TIMEOUT_SECONDS = 30.0
_SEPARATOR = b"\0"
_VALIDITY = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)
"""The certificate is valid from an hour ago, for clients whose clocks are slow."""


class SelfSigned(NamedTuple):
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def make_self_signed_in_child(name: str, addresses: Iterable[str]) -> SelfSigned:
    """`make_self_signed` in a short-lived process, if one can be started: the library takes 10 MiB, and a server has no
    other use for it."""
    names = (name, *addresses)
    command = (sys.executable, "-P", __file__, *names)
    try:
        child = subprocess.run(command, capture_output=True, check=True, timeout=_CHILD_TIMEOUT_SECONDS)
        return SelfSigned(*child.stdout.split(_SEPARATOR))
    except (OSError, subprocess.SubprocessError, TypeError):
        return make_self_signed(name, names[1:])


def make_self_signed(name: str, addresses: Iterable[str], now: datetime | None = None) -> SelfSigned:
    """A server certificate for a DNS name and IP addresses, valid for a year; ECDSA on P-256."""
    # Imported here: only a server without a certificate needs the library, and loading it takes tens of milliseconds.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    begin = (now or datetime.now(UTC)) - _CLOCK_SKEW
    key = ec.generate_private_key(ec.SECP256R1())
    common_name = f"{name}@{int(begin.timestamp())}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    names = [x509.DNSName(name), *(x509.IPAddress(ipaddress.ip_address(each)) for each in addresses)]
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder(
            subject, subject, key.public_key(), x509.random_serial_number(), begin, begin + _VALIDITY
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return SelfSigned(certificate.public_bytes(encoding), private)


if __name__ == "__main__":
    sys.stdout.buffer.write(_SEPARATOR.join(make_self_signed(sys.argv[1], sys.argv[2:])))
