"""What several commands have in common: those that consist of others, and those that read files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click


class Group(click.Group):
    """Says which subcommand was probably meant, where there is none of that name."""

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


class FileCommand(click.Command):
    """Takes its files as arguments and, for those who are used to kubectl, also with -f before each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_without_flag(args)))


def _without_flag(args: list[str]) -> Iterator[str]:
    for arg in args:
        if arg not in ("-f", "--filename"):
            yield arg.removeprefix("--filename=") if arg.startswith("--filename=") else arg
