"""`stowplan explain`: why a pod is pending, or why it is on its node."""

from __future__ import annotations

import sys

import click

from stowplan.cli.command import Command
from stowplan.cli.state_options import StateRequest, state_options

EXIT_PENDING = 3


@click.command(cls=Command)
@click.argument("pod")
@state_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(pod: str, request: StateRequest, output: str) -> None:
    """Explain why a pod is pending: the nearest way in, with figures and checked changes.

    POD is namespace/name, a name in the namespace of -n, or a uid.

    \b
    Examples:
      stowplan explain web-0 -n shop -f cluster.yaml
      stowplan explain shop/web-0 --from-cluster

    Exit status: 0 the pod is placed or fits, 3 it is pending, 2 the input is invalid.
    """
    from msgspec.structs import replace
    from rich.console import Console

    from stowplan.api import codec
    from stowplan.insight.explain import run
    from stowplan.insight.text.pending import pending_lines

    with request.open() as state:
        found = state.insight.find(pod, state.namespace)
        if found.placed:
            click.echo(f"{found.pod.key} is on node {found.pod.node_name}.")
            return
        explanation = replace(run(state.insight.explain(found.pod)), as_of=state.as_of)
    if output == "json":
        sys.stdout.buffer.write(codec.encode(explanation) + b"\n")
    else:
        console = Console()
        for line in pending_lines(explanation, console.width if console.is_terminal else None):
            click.echo(line)
    click.get_current_context().exit(0 if explanation.verdict == "fits" else EXIT_PENDING)
