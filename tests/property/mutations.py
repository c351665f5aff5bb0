"""Requests, and ways to spoil them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

_ODD: tuple[bytes, ...] = (
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1.5",
    b"1e400",
    b"9" * 400,
    b'""',
    b'"\\u0000"',
    b'"\xc3\xa9"',
    b"[]",
    b"{}",
    b"[null]",
    b'{"":null}',
    b'"' + b"x" * 5000 + b'"',
)


def _case(rng: random.Random, body: bytes) -> bytes:
    return _walk(rng, json.loads(body), lambda key: "".join(rng.choice((c.upper(), c.lower())) for c in key))


def _replace(rng: random.Random, body: bytes) -> bytes:
    """Something else in the place of a value."""
    value = json.loads(body)
    spots = list(_spots(value))
    for _ in range(rng.choice((1, 1, 2, 5))):
        holder, key = rng.choice(spots)
        if isinstance(holder, list) or key in holder:
            holder[key] = f"@{rng.randrange(len(_ODD))}@"
    text = _encode(value)
    for number, odd in enumerate(_ODD):
        text = text.replace(f'"@{number}@"'.encode(), odd)
    return text


def _drop(rng: random.Random, body: bytes) -> bytes:
    value = json.loads(body)
    holder, key = rng.choice(list(_spots(value)))
    del holder[key]
    return _encode(value)


def _repeat(rng: random.Random, body: bytes) -> bytes:
    """A second spelling of a key."""
    value = json.loads(body)
    key: str = rng.choice(list(value))
    more = rng.choice(_ODD) if rng.random() < 0.5 else _encode(value.get(key))
    return body[:-1] + b',"' + rng.choice((key.lower(), key.upper())).encode() + b'":' + more + b"}"


def _truncate(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def _garble(rng: random.Random, body: bytes) -> bytes:
    spoilt = bytearray(body)
    for _ in range(rng.choice((1, 2, 8))):
        spoilt[rng.randrange(len(spoilt))] = rng.choice(
            (0, 0x22, 0x5C, 0x7B, 0x7D, 0x80, 0xC3, 0xFF, rng.randrange(256))
        )
    return bytes(spoilt)


def _splice(rng: random.Random, body: bytes) -> bytes:
    at, length = rng.randrange(len(body)), rng.choice((1, 3, 40))
    piece = rng.choice((b"", body[at : at + length] * 2, rng.choice(_ODD), b"\xed\xa0\x80", b"\xff\xfe"))
    return body[:at] + piece + body[at + length :]


def _deepen(rng: random.Random, body: bytes) -> bytes:
    depth = rng.choice((10, 200, 2000, 50_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opening * depth + b"1" + (closing * depth if rng.random() < 0.8 else b"")
    at = body.find(rng.choice((b'"spec":', b'"status":', b'"Nodes":', b'"Pods":', b'"Pod":')))
    if at < 0:
        return nested
    return body[:at] + b'"odd":' + nested + b"," + body[at:]


def _blanks(rng: random.Random, body: bytes) -> bytes:
    return rng.choice((b" ", b"\n\t", b"\xef\xbb\xbf")) + body + rng.choice((b"", b"\n", b" x", b"{}"))


MUTATIONS: tuple[Mutation, ...] = (
    _case,
    _replace,
    _replace,
    _drop,
    _repeat,
    _truncate,
    _garble,
    _splice,
    _deepen,
    _blanks,
)


def mutate(rng: random.Random, body: bytes) -> bytes:
    """A request with one or more things wrong with it."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            body = rng.choice(MUTATIONS)(rng, body) or b"x"
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            continue  # It is beyond repair already.
    return body


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every place where a value stands."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            found += _spots(value[key])
    return found


def _walk(rng: random.Random, value: Any, rename: Callable[[str], str], depth: int = 0) -> bytes:
    if isinstance(value, dict) and depth < 3:
        value = {rename(key): json.loads(_walk(rng, member, rename, depth + 1)) for key, member in value.items()}
    return _encode(value)


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
