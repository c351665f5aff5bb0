"""Deterministic names, uids and timestamps of simulated objects."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b

from stowplan import api
from stowplan.api import codec

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of generated names in Kubernetes: no vowels, no ambiguous characters."""

_SUFFIX_LENGTH = 5
_MAX_BASE_LENGTH = 63 - _SUFFIX_LENGTH


def make_uid(*parts: object) -> str:
    """A uid derived from the parts."""
    digits = blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def generate_name(base: str, *parts: object) -> str:
    """The base, truncated to the maximum length of a name, with a suffix derived from the parts."""
    number = int.from_bytes(blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest(), "big")
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[letter]
    return base[:_MAX_BASE_LENGTH] + suffix


def template_hash(template: api.PodTemplateSpec) -> str:
    """The pod-template-hash: identifies a version of a pod template in labels and in names of ReplicaSets."""
    number = int.from_bytes(blake2b(codec.encode(template), digest_size=4).digest(), "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def timestamp(seconds: int) -> str:
    """A time in RFC 3339."""
    minutes, second = divmod(seconds, 60)
    return f"{_minute(minutes)}:{second:02}Z"


@lru_cache(256)
def _minute(minutes: int) -> str:
    """The date and time of a minute, counted from 1970-01-01T00:00. Cached: many times share a minute."""
    return datetime.fromtimestamp(60 * minutes, UTC).strftime("%Y-%m-%dT%H:%M")
