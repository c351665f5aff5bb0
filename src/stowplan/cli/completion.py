"""`stowplan completion`: what a shell needs to complete this command line."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes a SHELL complete commands, options, files and the contexts of your kubeconfig.

    \b
    Examples:
      bash 4.4 or newer, in this session; and in all to come:
        source <(stowplan completion bash)
        echo 'source <(stowplan completion bash)' >> ~/.bashrc
      zsh, where compinit has run:
        source <(stowplan completion zsh)
      fish:
        stowplan completion fish > ~/.config/fish/completions/stowplan.fish

    Exit status: 0 done; 2 there is no script for this shell.
    """
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    script = made(root, {}, "stowplan", "_STOWPLAN_COMPLETE")
    # source() would also ask bash for its version, which may be another than the one that is going to read this.
    click.echo(script.source_template % script.source_vars())


class ContextName(click.types.StringParamType):
    """The name of a context in the kubeconfig that kubectl would use."""

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


_TYPES: dict[str, click.Path] = {
    "FILE": click.Path(),
    "FILE...": click.Path(),
    "[FILE...|-]": click.Path(),
    "MODULE:CLASS": click.Path(),
    "FOLDER": click.Path(file_okay=False),
}
"""What is completed, by what the help calls it."""


def completable(command: click.Command) -> click.Command:
    """The command, with parameters whose values a shell can complete. Only completion asks for it."""
    for param in command.params:
        if isinstance(param.type, click.types.StringParamType):
            context = isinstance(param, click.Option) and "--context" in param.opts
            param.type = ContextName() if context else _TYPES.get(param.metavar or "", param.type)
    if isinstance(command, click.Group):
        for child in command.commands.values():
            completable(child)
    return command
