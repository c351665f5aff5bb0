"""What is wrong with a configuration, as a list: every fault with the path that it stands at."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from stowplan.errors import ConfigError


class FieldError(NamedTuple):
    """One fault. The path is JSONPath (`$.profiles[0].plugins`), or empty where the text as a whole is no good."""

    path: str
    message: str

    def touches(self, other: "FieldError") -> bool:
        """Whether the two are about the same field, or one about a field inside the other's."""
        outer, inner = sorted((self.path, other.path), key=len)
        return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


class InvalidConfigurationError(ConfigError):
    """A configuration with faults: all of them in `errors`, and in the text a line each."""

    def __init__(self, source: str, errors: Iterable[FieldError]) -> None:
        self.source = source
        self.errors = tuple(errors)
        super().__init__(": ".join(part for part in (source, *error) if part) for error in self.errors)


class Problems:
    """Collects faults. The wording of each sort is that of Kubernetes' own validation."""

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
