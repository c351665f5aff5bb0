"""Names, uids and times of simulated objects: random to look at, the same in every run."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b

from stowplan import api
from stowplan.api import codec

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes makes random names of: no vowels, no characters that look alike."""

_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX


def make_uid(*parts: object) -> str:
    """A uid that follows from these parts alone."""
    digits = blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def generate_name(base: str, *parts: object) -> str:
    """A base, cut to what leaves room, and a suffix that follows from these parts alone."""
    number = int.from_bytes(blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest(), "big")
    suffix = ""
    for _ in range(_SUFFIX):
        number, letter = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[letter]
    return base[:_LONGEST_BASE] + suffix


def template_hash(template: api.PodTemplateSpec) -> str:
    """What stands for a version of a pod template in labels and in names of replica sets."""
    number = int.from_bytes(blake2b(codec.encode(template), digest_size=4).digest(), "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


@lru_cache(1024)
def timestamp(seconds: int) -> str:
    """A time as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
