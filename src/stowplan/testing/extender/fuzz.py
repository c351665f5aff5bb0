"""Malformed requests, to test an extender's error handling."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from stowplan.testing.extender.samples import JsonObject

Mutation = Callable[[JsonObject, random.Random], bytes]

_NODE_NAMES = 10_000
_NESTING_DEPTH = 2_000
_ODD_VALUES: tuple[Any, ...] = (None, True, -1, 1.5, 1e308, 2**70, "", "\ud83d", [], {}, [None], {"": None})


def mutations(request: JsonObject, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` malformed variants of a request, each with a description. Deterministic for a seed."""
    rng = random.Random(seed)
    kinds = list(_KINDS.items())
    for number in range(count):
        name, mutate = kinds[number % len(kinds)]
        yield name, mutate(json.loads(json.dumps(request)), rng)


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every (container, key) in a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        found.append((value, key))
        _places(each, found)
    return found


def _casing(request: JsonObject, rng: random.Random) -> bytes:
    changes: list[Callable[[str], str]] = [str.lower, str.upper, str.swapcase, lambda key: key[:1].lower() + key[1:]]
    change = rng.choice(changes)
    return _encode({change(key): value for key, value in request.items()})


def _twice(request: JsonObject, rng: random.Random) -> bytes:
    """A key in two spellings."""
    key = rng.choice(list(request))
    return _encode(request)[:-1] + b"," + _encode({key.lower(): request[key]})[1:]


def _replace(request: JsonObject, rng: random.Random) -> bytes:
    """Some values become something else: null, a float, a huge number, the wrong type."""
    places = _places(request, [])
    for _ in range(rng.randint(1, 3)):
        container, key = rng.choice(places)
        container[key] = rng.choice(_ODD_VALUES)
    return _encode(request)


def _nulls(request: JsonObject, rng: random.Random) -> bytes:
    return _encode({key: None if rng.random() < 0.5 else value for key, value in request.items()})


def _less(request: JsonObject, rng: random.Random) -> bytes:
    request.pop(rng.choice(list(request)))
    return _encode(request)


def _more(request: JsonObject, rng: random.Random) -> bytes:
    return _encode({**request, "Unknown": rng.choice(_ODD_VALUES), "node_names": ["x"]})


def _truncated(request: JsonObject, rng: random.Random) -> bytes:
    body = _encode(request)
    return body[: rng.randrange(len(body))]


def _garbled(request: JsonObject, rng: random.Random) -> bytes:
    body = bytearray(_encode(request))
    for _ in range(rng.randint(1, 8)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body)


def _huge(request: JsonObject, rng: random.Random) -> bytes:
    names = [f"node-{rng.randrange(_NODE_NAMES)}" for _ in range(_NODE_NAMES)]
    return _encode({**request, "NodeNames": names, "Nodes": None})


def _deep(request: JsonObject, rng: random.Random) -> bytes:
    key = rng.choice(list(request))
    body = _encode({**request, key: "DEEP"})
    return body.replace(b'"DEEP"', b"[" * _NESTING_DEPTH + b"]" * _NESTING_DEPTH)


def _something_else(request: JsonObject, rng: random.Random) -> bytes:
    return rng.choice([b"", b"null", b"[]", b"0", b'"text"', b"\xff\xfe", b"{", b"<xml/>", b"{}garbage"])


_KINDS: dict[str, Mutation] = {
    "casing": _casing,
    "a key twice": _twice,
    "odd values": _replace,
    "nulls": _nulls,
    "a key less": _less,
    "more keys": _more,
    "truncated": _truncated,
    "garbled": _garbled,
    "a huge list": _huge,
    "depth": _deep,
    "something else": _something_else,
}
