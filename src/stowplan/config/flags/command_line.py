"""A command line parsed as Kubernetes' components parse theirs, and the help text.

Upstream: github.com/spf13/pflag/flag.go, k8s.io/component-base/cli/flag
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from stowplan.config.flags.table import EARLIER, FLAGS, GROUPS, SHORT, SchedulerFlag
from stowplan.config.flags.values import BOOL, VERSION
from stowplan.config.strict_decoding import suggestion
from stowplan.errors import ConfigError
from stowplan.logs.format import quote

PROGRAM = "stowplan scheduler"
_USAGE_COLUMNS = 140


class CommandLine:
    """The values of all flags by name, and the names of the given ones."""

    def __init__(self, arguments: Iterable[str]) -> None:
        """Raises ConfigError with one line in kube-scheduler's words."""
        self.values: dict[str, Any] = {flag.name: flag.default for flag in FLAGS.values()}
        self.given: set[str] = set()
        self._read(iter(list(arguments)))

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def shown(self) -> dict[str, str]:
        """All flags as text, for /flagz; flags of earlier releases only if given."""
        names = [name for name in self.values if name not in EARLIER or name in self.given]
        return {name: FLAGS[name].kind.show(self.values[name]) for name in names}

    def deprecations(self, ignored: Collection[str] = ()) -> list[str]:
        """A line for each deprecated flag that was given and is not ignored."""
        given = [FLAGS[name] for name in sorted(self.given.difference(ignored)) if FLAGS[name].instead]
        return [f"Flag --{flag.name} has been deprecated: use {flag.instead} instead" for flag in given]

    def _read(self, arguments: Iterator[str]) -> None:
        rest: list[str] = []
        for argument in arguments:
            if argument == "--":
                rest += arguments
            elif argument.startswith("--"):
                self._long(argument, arguments)
            elif argument.startswith("-") and len(argument) > 1:
                self._shorts(argument[1:], arguments)
            else:
                rest.append(argument)
        if any(rest) and not self.values["help"]:
            raise ConfigError(f'"{PROGRAM}" does not take any arguments, got [{" ".join(map(quote, rest))}]')

    def _long(self, argument: str, others: Iterator[str]) -> None:
        written, separator, text = argument[2:].partition("=")
        if not written or written.startswith("-"):
            raise ConfigError(f"bad flag syntax: {argument}")
        name = written.replace("_", "-")
        flag = FLAGS.get(name)
        if flag is None:
            raise ConfigError(f"unknown flag: --{name}{suggestion(f'--{name}', map('--{}'.format, FLAGS))}")
        if not separator:
            text = self._value(flag, others, f"--{written}")
        self._set(flag, text)

    def _shorts(self, letters: str, others: Iterator[str]) -> None:
        """Shorthand letters, the last of which may take a value: -hv=2, -v2, -v 2."""
        for position, letter in enumerate(letters):
            flag = SHORT.get(letter)
            if flag is None:
                raise ConfigError(f"unknown shorthand flag: '{letter}' in -{letters[position:]}")
            rest = letters[position + 1 :]
            if rest.startswith("="):
                return self._set(flag, rest[1:])
            if flag.kind is not BOOL:
                return self._set(flag, rest or self._value(flag, others, f"'{letter}' in -{letters}"))
            self._set(flag, "true")
        return None

    @staticmethod
    def _value(flag: SchedulerFlag, others: Iterator[str], written: str) -> str:
        if flag.kind in (BOOL, VERSION):
            return "true"
        text = next(others, None)
        if text is None:
            raise ConfigError(f"flag needs an argument: {written}")
        return text

    def _set(self, flag: SchedulerFlag, text: str) -> None:
        try:
            value = flag.kind.read(text)
        except ValueError as error:
            name = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
            raise ConfigError(f"invalid argument {quote(text)} for {quote(name)} flag: {error}") from None
        if flag.kind.is_list and flag.name in self.given:
            value = (*self.values[flag.name], *value)
        self.values[flag.name] = value
        self.given.add(flag.name)

    def check_refused(self) -> None:
        """Raises ConfigError for an unsupported flag with a value other than its default."""
        for name in sorted(self.given):
            flag = FLAGS[name]
            if flag.refused and self.values[name] != flag.default:
                raise ConfigError(f"--{name} is not supported: {flag.refused}")


EXAMPLES = """\
Examples:
  Beside kube-scheduler, for the pods that name one of the configuration's profiles:
    stowplan scheduler --config scheduler.yaml --kubeconfig ~/.kube/config --v=2
  With an out-of-tree plugin:
    stowplan scheduler --plugin ./rack_care.py:RackCare --leader-elect-resource-name rack-care
  Print the effective configuration:
    stowplan scheduler --config scheduler.yaml --write-config-to effective.yaml

Exit status: 0 terminated on request; 1 failed to start, or lost the lease."""


def usage() -> str:
    """The help text."""
    lines = [f"Usage: {PROGRAM} [flags]", ""]
    for title, flags in GROUPS.items():
        lines += [f"{title} flags:", "", *_described(flags), ""]
    return "\n".join([*lines, EXAMPLES])


def _described(flags: Sequence[SchedulerFlag]) -> list[str]:
    heads = [_head(flag) for flag in flags]
    width = max(map(len, heads))
    lines: list[str] = []
    for head, flag in zip(heads, flags, strict=True):
        indent = " " * (width + 3)
        lines += textwrap.wrap(
            _text(flag), _USAGE_COLUMNS, initial_indent=f"{head:<{width}}   ", subsequent_indent=indent
        )
    return lines


def _text(flag: SchedulerFlag) -> str:
    refused = f" Not supported: {flag.refused}." if flag.refused else ""
    note = f" (Here: {flag.note}.)" if flag.note else ""
    return f"{flag.help}{refused}{note}{_default(flag)}"


def _head(flag: SchedulerFlag) -> str:
    short = f"  -{flag.short}, " if flag.short else "      "
    return f"{short}--{flag.name} {flag.kind.name}".rstrip()


def _default(flag: SchedulerFlag) -> str:
    shown = flag.kind.show(flag.default)
    return "" if shown in ("", "[]", "false", "0") else f" (default {shown})"
