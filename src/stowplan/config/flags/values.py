"""Types of flag values: parsed and printed as by Kubernetes' command lines, with Go's error texts.

Upstream: github.com/spf13/pflag, k8s.io/component-base/cli/flag
"""

from __future__ import annotations

import csv
import ipaddress
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stowplan.api.quantity import QuantityError
from stowplan.api.quantity import parse as parse_quantity
from stowplan.config import Duration
from stowplan.config.flags.cipher_suites import TLS_VERSIONS, openssl_names
from stowplan.errors import ConfigError
from stowplan.framework.extender import EXTENDER_VERBS, ExtenderVerb
from stowplan.logs import parse_vmodule, quote

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_MAX_FLOAT32 = 3.4028234663852886e38
_DEFAULT_TLS = "VersionTLS12"
"""kube-scheduler shows this default as an empty value."""
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_METRIC_LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")


def _same(value: Any) -> Any:
    return value


class FlagType(NamedTuple):
    """A type of value. `read` raises ValueError; `show` prints it for the help and /flagz."""

    name: str
    """The type's name in the help."""
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str
    is_list: bool = False
    """Whether a repeated flag appends to the list."""
    to_option: Callable[[Any], Any] = _same
    """The option's value from the flag's; raises ConfigError."""
    from_option: Callable[[Any], Any] = _same
    """The flag's default from the option's."""


def _read_bool(text: str) -> bool:
    if text not in (*_TRUE, *_FALSE):
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return text in _TRUE


def _whole(function: str, low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text, 0) if text.isascii() and text.strip() == text and "_" not in text else None
        except ValueError:
            number = None
        if number is None or (number < 0 and low == 0):
            raise ValueError(f'strconv.{function}: parsing "{text}": invalid syntax')
        if not low <= number <= high:
            raise ValueError(f'strconv.{function}: parsing "{text}": value out of range')
        return number

    return read


def _read_float32(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": invalid syntax') from None
    if math.isfinite(number) and abs(number) > _MAX_FLOAT32:
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": value out of range')
    return number


def _read_ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        raise ValueError(f'failed to parse IP: "{text}"') from None


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(next(csv.reader([text]))) if text else ()


def _read_ints(text: str) -> tuple[int, ...]:
    read = _whole("ParseInt", -(2**31), 2**31 - 1)
    return tuple(read(item) for item in text.split(",")) if text else ()


def _read_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """`key=value,...`; a pair with commas in it is quoted."""
    items = [text] if text.count("=") == 1 and '"' not in text else _read_list(text)
    pairs = [item.partition("=") for item in items]
    for key, separator, value in pairs:
        if not separator:
            raise ValueError(f"{key}{value} must be formatted as key=value")
    return tuple((key.strip('"'), value.strip('"')) for key, _, value in pairs)


def _read_quantity(text: str) -> str:
    try:
        parse_quantity(text)
    except QuantityError as error:
        raise ValueError(str(error).partition(": ")[2]) from None
    return text


def _read_version(text: str) -> str:
    return text if text == "raw" or text.startswith("v") else str(_read_bool(text)).lower()


def _show_list(values: tuple[Any, ...]) -> str:
    return f"[{','.join(map(str, values))}]"


def _show_pairs(pairs: tuple[tuple[str, str], ...]) -> str:
    return f"[{','.join(f'{key}={value}' for key, value in pairs)}]"


def _show_levels(rules: tuple[tuple[str, int], ...]) -> str:
    return ",".join(f"{pattern}={level}" for pattern, level in rules)


def _metric_names(names: tuple[str, ...]) -> frozenset[str]:
    for name in names:
        if not _METRIC.fullmatch(name):
            raise ConfigError(f"--disabled-metrics: {quote(name)} is not the full name of a metric")
    return frozenset(names)


def metric_labels(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
    """Allow-lists by (metric, label) from pairs "metric,label" and "value,value"."""
    allowed = {}
    for key, values in pairs:
        if not _METRIC_LABEL.fullmatch(key):
            raise ConfigError(f"--allow-metric-labels: {quote(key)} does not have the format metricName,labelName")
        metric, label = key.split(",")
        allowed[metric, label] = frozenset(values.split(","))
    return allowed


def _verb_timeouts(pairs: tuple[tuple[str, str], ...]) -> dict[ExtenderVerb, float]:
    timeouts: dict[ExtenderVerb, float] = {}
    for verb, text in pairs:
        try:
            seconds = Duration.parse(text).seconds
        except ValueError as error:
            raise ConfigError(f"--extender-timeouts {verb}={text}: {error}") from error
        if verb not in EXTENDER_VERBS or seconds <= 0:
            raise ConfigError(f"--extender-timeouts {verb}={text}: give {', '.join(EXTENDER_VERBS)} a time above zero")
        timeouts[verb] = seconds
    return timeouts


def _tls_version(text: str) -> str:
    if text and text not in TLS_VERSIONS:
        raise ConfigError(f"unknown tls version {quote(text)}")
    return text or _DEFAULT_TLS


STRING = FlagType("string", str)
BOOL = FlagType("", _read_bool, lambda value: str(value).lower())
INT = FlagType("int", _whole("ParseInt", -(2**63), 2**63 - 1))
INT32 = FlagType("int32", _whole("ParseInt", -(2**31), 2**31 - 1))
FLOAT32 = FlagType("float32", _read_float32, lambda value: f"{value:g}")
DURATION = FlagType("duration", Duration.parse)
IP = FlagType("ip", _read_ip)
LIST = FlagType("strings", _read_list, _show_list, is_list=True)
INTS = FlagType("int32Slice", _read_ints, _show_list, is_list=True)
PAIRS = FlagType("stringToString", _read_pairs, _show_pairs, is_list=True)
GATES = FlagType("colonSeparatedMultimapStringString", _read_list, ",".join, is_list=True)
CERTIFICATES = FlagType("namedCertKey", lambda text: (text,) if text else (), _show_list, is_list=True)
REPEATED = FlagType("string", lambda text: (text,) if text else (), _show_list, is_list=True)
QUANTITY = FlagType("quantity", _read_quantity)
LEVEL = FlagType("Level", _whole("ParseUint", 0, 2**32 - 1))
LEVELS = FlagType("pattern=N,...", parse_vmodule, _show_levels)
VERSION = FlagType("version[=true]", _read_version)

# Types whose option has another form than the flag
SECONDS = DURATION._replace(to_option=lambda value: value.seconds, from_option=lambda value: Duration.of_seconds(value))
PATHS = LIST._replace(to_option=lambda paths: tuple(f"/{path.lstrip('/')}" for path in paths))
CIPHER_SUITES = LIST._replace(to_option=openssl_names)
TLS_VERSION = STRING._replace(to_option=_tls_version, from_option=lambda value: "" if value == _DEFAULT_TLS else value)
METRICS = LIST._replace(to_option=_metric_names, from_option=tuple)
METRIC_LABELS = PAIRS._replace(to_option=metric_labels, from_option=tuple)
VERB_TIMEOUTS = PAIRS._replace(to_option=_verb_timeouts, from_option=tuple)
