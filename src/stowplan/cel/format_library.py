"""Named formats.

Upstream: k8s.io/apiserver/pkg/cel/library/format.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import _lru_cache_wrapper
from typing import Any

from stowplan.api.names import label_key_errors, label_value_errors
from stowplan.cel.cost import by_pattern, per_character
from stowplan.cel.library import Library
from stowplan.cel.network_library import is_url
from stowplan.cel.time_library import parse_timestamp
from stowplan.cel.values import NONE, CelError, Optional, register, size

LIBRARY = Library()
declare = LIBRARY.declare

_MAX_KEPT_CHARACTERS = 1024

Check = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """A named format. `check` returns the errors of a text."""

    name: str
    check: Check
    regex_size: int


register(Format, "kubernetes.NamedFormat")


def _pattern(pattern: str, limit: int, message: str, *, prefix: bool = False) -> Check:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def check(text: str) -> list[str]:
        # A prefix may end in a dash.
        whole = f"{text[:-1]}a" if prefix and text.endswith("-") and len(text) > 1 else text
        errors = [f"must be no more than {limit} bytes"] if len(whole) > limit else []
        return errors + ([] if matches(whole) else [f"{message} (regex used for validation is '{pattern}')"])

    return check


def _kept(check: _lru_cache_wrapper[tuple[str, ...]]) -> Check:
    """A check whose results are cached, without the texts that are too long to be valid."""
    return lambda text: check(text) if len(text) <= _MAX_KEPT_CHARACTERS else check.__wrapped__(text)


def _test(valid: Callable[[str], Any], message: str) -> Check:
    def check(text: str) -> list[str]:
        try:
            return [] if valid(text) is not None else [message]
        except (ValueError, CelError):
            return [message]

    return check


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_1123 = "a lowercase RFC 1123 {} must consist of lower case alphanumeric characters"
_1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', and start with a letter"


def _formats() -> dict[str, Format]:
    found = {
        "qualifiedName": Format("QualifiedName", _kept(label_key_errors), 60),
        "labelValue": Format("LabelValue", _kept(label_value_errors), 40),
        "uri": Format("URI", _test(lambda text: is_url(text) or None, "invalid URI for request"), 1103),
        "uuid": Format("uuid", _test(_UUID.fullmatch, "does not match the UUID format"), 71),
        "byte": Format("byte", _test(_BASE64.fullmatch, "invalid base64"), 84),
        "date": Format("date", _test(date.fromisoformat, "invalid date"), 83),
        "datetime": Format("datetime", _test(parse_timestamp, "invalid datetime"), 83),
    }
    for suffix, prefix in (("", False), ("Prefix", True)):
        label = _pattern(_LABEL, 63, _1123.format("label"), prefix=prefix)
        subdomain = _pattern(_SUBDOMAIN, 253, _1123.format("subdomain"), prefix=prefix)
        found[f"dns1123Label{suffix}"] = Format(f"DNS1123Label{suffix}", label, 30)
        found[f"dns1123Subdomain{suffix}"] = Format(f"DNS1123Subdomain{suffix}", subdomain, 60)
        found[f"dns1035Label{suffix}"] = Format(
            f"DNS1035Label{suffix}", _pattern(_DNS1035, 63, _1035, prefix=prefix), 30
        )
    return found


_FORMATS = _formats()


def _declare_constants() -> None:
    for name, found in _FORMATS.items():
        declare(f"format.{name}() -> format", lambda found=found: found)


_declare_constants()


def _validate(form: Format, text: str) -> Optional:
    errors = form.check(text)
    return Optional(True, list(errors)) if errors else NONE


def _validate_cost(args: Sequence[Any]) -> int:
    form: Format = args[0]
    return by_pattern(size(args[1]), form.regex_size)


declare("format::validate(string) -> optional(list(string))", _validate, _validate_cost, work=per_character(8, 1))
declare(
    "format.named(string) -> optional(format)",
    lambda name: Optional(True, _FORMATS[name]) if name in _FORMATS else NONE,
)
