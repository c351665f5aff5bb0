"""The command-line reference, from the help of the commands."""

from collections.abc import Iterator

import click

from stowplan.cli.main import cli

_HELP = ["-h", "--help"]
"""As at the root: click caches the help option of a command at its first use."""
_WIDTH = 100


def commands(*names: str) -> str:
    """The help of these commands and their subcommands, each with a heading; `stowplan` is the root alone."""
    parts = []
    for path, command in _walk(("stowplan",), cli):
        if path[:2][-1] in names and not command.hidden:
            parts.append(f"## {' '.join(path)}\n\n```text\n{_help(path, command)}\n```\n")
    return "\n".join(parts)


def _walk(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1], help_option_names=_HELP)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _walk((*path, name), inner)


def _help(path: tuple[str, ...], command: click.Command) -> str:
    if path == ("stowplan", "scheduler"):
        from stowplan.config.flags.command_line import usage

        return usage().strip()
    context = click.Context(
        command,
        info_name=" ".join(path),
        terminal_width=_WIDTH,
        max_content_width=_WIDTH,
        help_option_names=_HELP,
    )
    return command.get_help(context)
