"""Validation errors of a configuration, each with its path.

Upstream: k8s.io/apimachinery/pkg/util/validation/field/errors.go
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from stowplan.errors import ConfigError


class FieldError(NamedTuple):
    """One error. The path is JSONPath (`$.profiles[0].plugins`), empty for the text as a whole."""

    path: str
    message: str

    def touches(self, other: "FieldError") -> bool:
        """Whether both concern the same field, or one a field inside the other's."""
        outer, inner = sorted((self.path, other.path), key=len)
        return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


class InvalidConfigurationError(ConfigError):
    """An invalid configuration: all errors in `errors`, one line each in the text."""

    def __init__(self, source: str, errors: Iterable[FieldError]) -> None:
        self.source = source
        self.errors = tuple(errors)
        super().__init__(": ".join(part for part in (source, *error) if part) for error in self.errors)


class Problems:
    """Collects errors, with the texts of Kubernetes' validation."""

    def __init__(self, errors: Iterable[FieldError] = ()) -> None:
        self.errors = list(errors)

    def add(self, path: str, message: str) -> None:
        self.errors.append(FieldError(path, message))

    def invalid(self, path: str, value: object, detail: str) -> None:
        self.add(path, f"Invalid value: {_show(value)}: {detail}")

    def required(self, path: str, detail: str = "") -> None:
        self.add(path, f"Required value: {detail}" if detail else "Required value")

    def unsupported(self, path: str, value: str, supported: Iterable[str]) -> None:
        choices = ", ".join(map(_show, supported))
        self.add(path, f"Unsupported value: {_show(value)}: supported values: {choices}")

    def duplicate(self, path: str, value: object) -> None:
        self.add(path, f"Duplicate value: {_show(value)}")

    def forbidden(self, path: str, detail: str) -> None:
        self.add(path, f"Forbidden: {detail}")


def _show(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()
