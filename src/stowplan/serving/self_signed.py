"""A certificate that vouches for itself, for a server that was given none.

Nobody can verify such a certificate, so it needs no library for certificates: it is one ECDSA key on the curve P-256,
one signature, and a few dozen bytes of DER around them. Keys and nonces come from the system's source of secrets.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_Point = tuple[int, int]
_BASE: _Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_SEQUENCE, _SET, _INTEGER, _BITS, _OCTETS, _UTF8, _UTC, _TRUE = (
    0x30,
    0x31,
    0x02,
    0x03,
    0x04,
    0x0C,
    0x17,
    b"\x01\x01\xff",
)
_CURVE = bytes.fromhex("06082a8648ce3d030107")
_EC_KEY = bytes.fromhex("06072a8648ce3d0201")
_ECDSA_SHA256 = bytes.fromhex("06082a8648ce3d040302")
_COMMON_NAME = bytes.fromhex("0603550403")
_BASIC_CONSTRAINTS = bytes.fromhex("0603551d13")
_KEY_USAGE = bytes.fromhex("0603551d0f")
_EXTENDED_KEY_USAGE = bytes.fromhex("0603551d25")
_SERVER_AUTH = bytes.fromhex("06082b06010505070301")
_ALTERNATIVE_NAMES = bytes.fromhex("0603551d11")

_LIFE = timedelta(days=365)


class SelfSigned(NamedTuple):
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def make_self_signed(name: str, addresses: Iterable[str], now: datetime | None = None) -> SelfSigned:
    """A server's certificate for a DNS name and some IP addresses, good for a year."""
    begin = (now or datetime.now(UTC)) - timedelta(hours=1)
    secret = secrets.randbelow(_N - 1) + 1
    x, y = _multiply(secret, _BASE)
    public = _der(_BITS, b"\x00\x04" + x.to_bytes(32) + y.to_bytes(32))
    algorithm = _der(_SEQUENCE, _ECDSA_SHA256)
    subject = _der(
        _SEQUENCE, _der(_SET, _der(_SEQUENCE, _COMMON_NAME, _der(_UTF8, f"{name}@{int(begin.timestamp())}".encode())))
    )
    body = _der(
        _SEQUENCE,
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(127) + 1),
        algorithm,
        subject,
        _der(_SEQUENCE, _time(begin), _time(begin + _LIFE)),
        subject,
        _der(_SEQUENCE, _der(_SEQUENCE, _EC_KEY, _CURVE), public),
        _der(0xA3, _der(_SEQUENCE, *_extensions(name, addresses))),
    )
    certificate = _der(_SEQUENCE, body, algorithm, _der(_BITS, b"\x00" + _sign(secret, body)))
    key = _der(_SEQUENCE, _integer(1), _der(_OCTETS, secret.to_bytes(32)), _der(0xA0, _CURVE), _der(0xA1, public))
    return SelfSigned(_pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", key))


def _extensions(name: str, addresses: Iterable[str]) -> list[bytes]:
    names = [_der(0x82, name.encode()), *(_der(0x87, ipaddress.ip_address(each).packed) for each in addresses)]
    return [
        _der(_SEQUENCE, _BASIC_CONSTRAINTS, _TRUE, _der(_OCTETS, _der(_SEQUENCE, _TRUE))),
        # Digital signature, and signing certificates: its own.
        _der(_SEQUENCE, _KEY_USAGE, _TRUE, _der(_OCTETS, _der(_BITS, b"\x02\x84"))),
        _der(_SEQUENCE, _EXTENDED_KEY_USAGE, _der(_OCTETS, _der(_SEQUENCE, _SERVER_AUTH))),
        _der(_SEQUENCE, _ALTERNATIVE_NAMES, _der(_OCTETS, _der(_SEQUENCE, *names))),
    ]


def _sign(secret: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest())
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        r = _multiply(nonce, _BASE)[0] % _N
        s = pow(nonce, -1, _N) * (digest + r * secret) % _N
        if r and s:
            return _der(_SEQUENCE, _integer(r), _integer(s))


def _multiply(factor: int, point: _Point) -> _Point:
    total: _Point | None = None
    while factor:
        if factor & 1:
            total = point if total is None else _add(total, point)
        point = _add(point, point)
        factor >>= 1
    assert total is not None
    return total


def _add(a: _Point, b: _Point) -> _Point:
    """Never called with a point and its opposite: factors are below the order of the base."""
    if a == b:
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, _P) % _P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _P) % _P
    x = (slope * slope - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content


def _integer(number: int) -> bytes:
    return _der(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def _time(moment: datetime) -> bytes:
    return _der(_UTC, moment.astimezone(UTC).strftime("%y%m%d%H%M%SZ").encode())


def _pem(label: str, content: bytes) -> bytes:
    text = base64.encodebytes(content).decode().replace("\n", "")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", "")).encode()
