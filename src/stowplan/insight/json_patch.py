"""JSON Patch (RFC 6902), the operations add, remove and replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from stowplan.errors import StowplanError
from stowplan.framework import PatchOperation


class PatchError(StowplanError):
    """A patch does not fit the document."""


def apply_patch(document: Any, patch: Sequence[PatchOperation]) -> Any:
    """A copy of the document with the operations applied. Members on the way to an added one are made."""
    document = deepcopy(document)
    for operation in patch:
        *parents, last = [unescaped(part) for part in operation.path.removeprefix("/").split("/")]
        target = document
        try:
            for part in parents:
                target = target[int(part)] if isinstance(target, list) else target.setdefault(part, {})
            _apply(target, last, operation)
        except (IndexError, ValueError, AttributeError) as error:
            raise PatchError(f"{operation.op} {operation.path}: the document has no such place") from error
    return document


def merged(operations: Iterable[PatchOperation]) -> tuple[PatchOperation, ...]:
    """The operations of several changes as one patch: lists that are added at one place are joined."""
    found: dict[str, PatchOperation] = {}
    others: list[PatchOperation] = []
    for operation in operations:
        if operation.op == "add" and isinstance(operation.value, list):
            known = found.get(operation.path)
            value = operation.value if known is None else [*known.value, *operation.value]
            found[operation.path] = PatchOperation("add", operation.path, value)
        else:
            others.append(operation)
    return (*found.values(), *others)


def unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def escaped(key: str) -> str:
    """A key of an object as a part of a path."""
    return key.replace("~", "~0").replace("/", "~1")


def _apply(target: Any, last: str, operation: PatchOperation) -> None:
    if isinstance(target, list):
        position = len(target) if last == "-" else int(last)
        if operation.op == "add":
            target.insert(position, operation.value)
        elif operation.op == "remove":
            del target[position]
        else:
            target[position] = operation.value
    elif operation.op == "remove":
        target.pop(last, None)
    else:
        target[last] = operation.value
