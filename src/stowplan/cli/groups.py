"""Commands that consist of others."""

from __future__ import annotations

import difflib

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
