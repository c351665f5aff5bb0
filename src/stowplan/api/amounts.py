"""Amounts of resources in words: CPU in cores, memory and storage in Gi, other resources as numbers.

`api.quantity` reads and writes Kubernetes' quantities; this module is for sentences and tables.
"""

from __future__ import annotations

from collections.abc import Iterable

_BYTES = ("memory", "ephemeral-storage", "storage")
_UNITS = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_MAX_DIGITS = 3


def is_bytes(resource: str) -> bool:
    return resource in _BYTES or resource.startswith("hugepages-")


def in_words(resource: str, value: int) -> str:
    """`12 CPU`, `500m CPU`, `48Gi`, `5 nvidia.com/gpu`."""
    if resource == "cpu":
        return f"{cores(value)} CPU" if value >= 1000 or value == 0 else f"{value}m CPU"
    if is_bytes(resource):
        text = bytes_in_words(value)
        return text if resource == "memory" else f"{text} {resource}"
    return f"{value:,} {resource}"


def bare(resource: str, value: int) -> str:
    """Like `in_words`, without the name of the resource."""
    if resource == "cpu":
        return cores(value)
    return bytes_in_words(value) if is_bytes(resource) else f"{value:,}"


def unit(resource: str) -> str:
    """What follows a figure of `compared`: ` CPU`, ` nvidia.com/gpu`, nothing for memory."""
    return " CPU" if resource == "cpu" else "" if resource == "memory" else f" {resource}"


def compared(resource: str, *values: int) -> list[str]:
    """Amounts without their resource, with as many digits as make different amounts look different."""
    if resource == "cpu":
        return [cores(value) for value in values]
    if is_bytes(resource):
        suffix, bits = _unit(max(abs(value) for value in values))
        return _distinct([value / 2**bits for value in values], values, suffix)
    return [f"{value:,}" for value in values]


def cores(milli: int) -> str:
    return f"{milli / 1000:,.3f}".rstrip("0").rstrip(".")


def bytes_in_words(value: int) -> str:
    suffix, bits = _unit(abs(value))
    return f"{value / 2**bits:,.2f}".rstrip("0").rstrip(".") + suffix


def request(resource: str, value: int) -> str:
    """A request as it is written in a manifest: `11950m`, `48Gi`."""
    if resource == "cpu":
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if is_bytes(resource):
        for suffix, bits in _UNITS:
            if value and value % 2**bits == 0:
                return f"{value >> bits}{suffix}"
    return str(value)


def listed(requests: dict[str, int]) -> str:
    """`12 CPU, 48Gi`: cpu and memory first."""
    return ", ".join(in_words(name, requests[name]) for name in ordered(requests) if requests[name])


def ordered(resources: Iterable[str]) -> list[str]:
    """Resources with cpu and memory first."""
    return sorted(resources, key=lambda name: (name != "cpu", name != "memory", name))


def _unit(value: int) -> tuple[str, int]:
    return next(((suffix, bits) for suffix, bits in _UNITS[1:] if value >= 2**bits), ("", 0))


def _distinct(numbers: list[float], values: tuple[int, ...], suffix: str) -> list[str]:
    texts: list[str] = []
    for digits in range(2, _MAX_DIGITS + 7):
        texts = [f"{number:,.{digits}f}".rstrip("0").rstrip(".") + suffix for number in numbers]
        if len(set(texts)) == len(set(values)):
            break
    return texts
