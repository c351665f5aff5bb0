"""Base classes of commands: help with examples, groups, lazily imported subcommands, commands that read files."""

from __future__ import annotations

import difflib
import gc
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from stowplan.cli.verbosity import verbosity_option

_EXAMPLES = "\b\nExamples:"
_FILENAME = ("-f", "--filename")
_FLAG = re.compile(r"^(-f|--filename)=?")


class Command(click.Command):
    """A command whose help ends with its examples, so that they stay visible after scrolling."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        about, examples, rest = inspect.cleandoc(self.help or "").partition(_EXAMPLES)
        self.help = about.rstrip()
        self.epilog = examples + rest
        if not any("-v" in param.opts for param in self.params):
            self.params.append(verbosity_option(hidden=True))


class Group(Command, click.Group):
    """A group that suggests a close match for an unknown subcommand."""

    command_class = Command

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Each subcommand with the first paragraph of its help."""
        return [(name, (command.help or "").partition("\n\n")[0]) for name, command in sorted(self.commands.items())]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(name, help=about) for name, about in self.summaries(ctx)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [item for item in commands if item.value.startswith(incomplete)] + options

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise click.UsageError(f"No such command '{name}'.{hint}", ctx)


class CommandEntry(NamedTuple):
    """Import path of a subcommand and its line in the group's help, which is printed without the import."""

    module: str
    attribute: str
    help: str


class LazyGroup(Group):
    """A group with additional subcommands that are imported when they run."""

    def __init__(self, *args: Any, entries: dict[str, CommandEntry], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self.entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(_imported(entry.module), entry.attribute)
        if ctx.resilient_parsing:
            from stowplan.cli.completion import completable

            return completable(command)
        return command

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        return [*super().summaries(ctx), *((name, entry.help) for name, entry in self.entries.items())]


def _imported(name: str) -> ModuleType:
    """A module. Modules stay, so the collector does not traverse them, neither while they are imported nor at exit.
    It would take a tenth of the time of a short command."""
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def filename_option(about: str) -> Callable[[Any], Any]:
    """The option `-f` of a FileCommand, for its help only."""
    return click.option(*_FILENAME, metavar="FILE", multiple=True, expose_value=False, help=about)


class FileCommand(Command):
    """A command that takes files as arguments, in order, also with `-f` before each as kubectl does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[-1] in _FILENAME and "--" not in args and not ctx.resilient_parsing:
            raise click.BadOptionUsage(args[-1], f"Option '{args[-1]}' requires an argument.", ctx)
        return super().parse_args(ctx, list(_without_flag(args)))


def _without_flag(args: list[str]) -> Iterator[str]:
    end = args.index("--") if "--" in args else len(args)
    for arg in args[:end]:
        file = _FLAG.sub("", arg)
        if file or not arg:
            yield file
    yield from args[end:]
