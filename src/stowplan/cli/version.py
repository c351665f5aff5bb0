"""`stowplan version`: what is running, and whose verdicts it gives."""

import json
import platform

import click

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.cli.command import Command


@click.command(cls=Command)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
def version(output: str) -> None:
    """Print the versions of Stowplan, of Python, and of the Kubernetes release whose verdicts are the reference.

    \b
    Examples:
      stowplan version
      stowplan version -o json
    """
    versions = {"stowplan": __version__, "python": platform.python_version(), "kubernetes": KUBERNETES_VERSION}
    if output == "json":
        click.echo(json.dumps(versions))
        return
    for name, value in versions.items():
        click.echo(f"{name:<11}{value}")
