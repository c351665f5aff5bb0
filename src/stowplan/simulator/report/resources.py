"""Amounts of resources in reports: integers in Kubernetes' units, their units' names, and their text in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

BASIC_RESOURCES = ("cpu", "memory")
_NATIVE_RESOURCES = frozenset((*BASIC_RESOURCES, "ephemeral-storage", "pods"))

MILLICORES, BYTES, COUNT = "millicores", "bytes", "count"


def unit_of(resource: str) -> str:
    """The unit of a resource's amounts."""
    if resource == "cpu":
        return MILLICORES
    is_bytes = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return BYTES if is_bytes else COUNT


def extended_resources(requests: Iterable[Mapping[str, int]]) -> list[str]:
    """The resources that pods request besides those that every node has, such as GPUs and huge pages."""
    names = {name for amounts in requests for name, amount in amounts.items() if amount}
    return sorted(names - _NATIVE_RESOURCES)


def amount_text(resource: str, amount: int) -> str:
    """An amount in cores, gibibytes or numbers."""
    return {MILLICORES: cores, BYTES: gibibytes}.get(unit_of(resource), "{:,}".format)(amount)


def share_text(resource: str, part: int, whole: int, between: str) -> str:
    """A part of an amount with its percentage."""
    return f"{amount_text(resource, part)}{between}{amount_text(resource, whole)} ({percentage(part, whole)})"


def cores(milli: int) -> str:
    """CPU in cores."""
    return f"{milli / 1000:,.1f}".removesuffix(".0")


def gibibytes(amount: int) -> str:
    return f"{amount / 2**30:,.1f}".removesuffix(".0") + "Gi"


def percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"
