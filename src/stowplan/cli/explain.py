"""`stowplan explain`: why a pod is pending, or why it is on its node."""

from __future__ import annotations

import sys

import click

from stowplan.cli.command import Command
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.errors import StowplanError

EXIT_PENDING = 3


class UnknownPodError(StowplanError):
    """The pod to explain is not in the input."""


@click.command(cls=Command)
@click.argument("pod")
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    metavar="FILE",
    help="Manifests: a file, a folder (its .yaml, .yml and .json files), or '-'.",
)
@click.option("-n", "--namespace", default="default", metavar="NAME", help="Namespace of the pod.")
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file.")
@plugin_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    pod: str,
    names: tuple[str, ...],
    namespace: str,
    config_file: str | None,
    plugins: tuple[str, ...],
    output: str,
) -> None:
    """Explain why a pod is pending: the nearest way in, with figures and checked changes.

    \b
    Examples:
      stowplan explain web-0 -n shop -f cluster.yaml

    Exit status: 0 the pod is placed or fits, 3 it is pending, 2 the input is invalid.
    """
    from rich.console import Console

    from stowplan.api import codec
    from stowplan.cli.profiles import load_config
    from stowplan.cli.streams import read
    from stowplan.insight.explain import explain as explain_pod
    from stowplan.insight.explain import run
    from stowplan.insight.text.pending import pending_lines
    from stowplan.plugins.registry import REGISTRY
    from stowplan.simulator.input import InputOptions, read_input
    from stowplan.simulator.load import populate
    from stowplan.simulator.simulation import Simulation

    registered = load_plugins(plugins)
    config = load_config(config_file, registered)
    given = read_input(names, read, options=InputOptions(namespace))
    simulation = Simulation(config, {**REGISTRY, **registered})
    populate(simulation.api_server, simulation.controllers, given.objects, given.standing, given.assumed_owners)
    simulation.run()
    space, _, name = pod.rpartition("/")
    for pending in simulation.engine.pending.values():
        if pending.pod.name == name and pending.pod.namespace == (space or namespace):
            break
    else:
        raise UnknownPodError(f"pod {space or namespace}/{name} is not pending")
    profile = simulation.engine.profiles[pending.pod.spec.scheduler_name]
    explanation = run(explain_pod(profile, pending.pod))
    if output == "json":
        sys.stdout.buffer.write(codec.encode(explanation) + b"\n")
    else:
        console = Console()
        for line in pending_lines(explanation, console.width if console.is_terminal else None):
            click.echo(line)
    click.get_current_context().exit(0 if explanation.verdict == "fits" else EXIT_PENDING)
