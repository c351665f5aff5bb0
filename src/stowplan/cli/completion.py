"""`stowplan completion`: prints completion scripts for shells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from stowplan.cli.command import Command
from stowplan.cli.shell_completion import SCRIPTS, VARIABLE, register


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL. It completes commands, options and values: files, classes in plugin
    files, contexts of your kubeconfig, and the choices of an option.

    \b
    Examples:
      bash 4.4 or newer, in this session and in all later ones:
        source <(stowplan completion bash)
        echo 'source <(stowplan completion bash)' >> ~/.bashrc
      zsh:
        autoload -U compinit && compinit
        source <(stowplan completion zsh)
      fish:
        mkdir -p ~/.config/fish/completions
        stowplan completion fish > ~/.config/fish/completions/stowplan.fish

    Exit status: 0 success; 2 there is no script for this shell.
    """
    register()
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    click.echo(made(root, {}, "stowplan", VARIABLE).source(), nl=False)


class ContextName(click.types.StringParamType):
    """The name of a context in kubectl's kubeconfig."""

    name = "context"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in _contexts(ctx) if name.startswith(incomplete)]


def _contexts(ctx: click.Context) -> list[str]:
    from stowplan.cluster.kubeconfig import context_names
    from stowplan.errors import StowplanError

    try:
        return context_names(ctx.params.get("kubeconfig") or "")
    except StowplanError:
        return []


class PluginName(click.types.StringParamType):
    """A file, and after the colon a class in it."""

    name = "plugin"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        file, colon, name = incomplete.rpartition(":")
        if not colon:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(f"{file}:{found}") for found in _classes(file) if found.startswith(name)]


def _classes(file: str) -> Iterator[str]:
    try:
        module = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for statement in module.body:
        if isinstance(statement, ast.ClassDef):
            yield statement.name


_TYPES: dict[str, click.Path | PluginName] = {
    "FILE": click.Path(),
    "FILE...": click.Path(),
    "[FILE...|-]": click.Path(),
    "URL|FILE": click.Path(),
    "PLUGIN": PluginName(),
    "FOLDER": click.Path(file_okay=False),
}
"""Parameter types with completion, by the metavar in the help."""


def completable(command: click.Command) -> click.Command:
    """Returns the command with parameter types that complete values. Used for completion only."""
    for param in command.params:
        if isinstance(param.type, click.types.StringParamType):
            context = isinstance(param, click.Option) and "--context" in param.opts
            param.type = ContextName() if context else _TYPES.get(param.metavar or "", param.type)
    if isinstance(command, click.Group):
        for child in command.commands.values():
            completable(child)
    return command
