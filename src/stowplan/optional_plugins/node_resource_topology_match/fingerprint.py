"""The fingerprint of a node's pods, by which an agent shows which pods its report includes.

Upstream: github.com/k8stopologyawareschedwg/podfingerprint, github.com/OneOfOne/xxhash
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_PREFIX = "pfp0v001"
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MAX_HASHES = 1 << 16


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The fingerprint of pods, given as (namespace, name)."""
    hashes = sorted(_pod_hash(namespace, name) for namespace, name in pods)
    return f"{_PREFIX}{xxh64(b''.join(each.to_bytes(8, 'little') for each in hashes)):016x}"


@lru_cache(_MAX_HASHES)
def _pod_hash(namespace: str, name: str) -> int:
    return xxh64(name.encode(), xxh64(namespace.encode()))


def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64-bit xxHash of data."""
    position, length = 0, len(data)
    if length >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while position + 32 <= length:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], _word(data, position + 8 * lane, 8))
            position += 32
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = (value ^ _round(0, lane)) * _P1 + _P4
    else:
        value = seed + _P5
    value = (value + length) & _MASK
    while position + 8 <= length:
        value = _rotate(value ^ _round(0, _word(data, position, 8)), 27) * _P1 + _P4
        position += 8
    if position + 4 <= length:
        value = _rotate((value ^ _word(data, position, 4) * _P1) & _MASK, 23) * _P2 + _P3
        position += 4
    for byte in data[position:]:
        value = _rotate(value ^ byte * _P5, 11) * _P1
    return _mixed(value & _MASK)


def _word(data: bytes, position: int, size: int) -> int:
    return int.from_bytes(data[position : position + size], "little")


def _round(value: int, word: int) -> int:
    return _rotate(value + word * _P2, 31) * _P1 & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 64 - bits) & _MASK


def _mixed(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32
