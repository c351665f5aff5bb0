"""`stowplan config convert`: a configuration of any version as kubescheduler.config.k8s.io/v1."""

import json
from typing import Any

import click

from stowplan.cli.command import FileCommand
from stowplan.cli.config_files import policies, tell
from stowplan.cli.files import read, shown
from stowplan.config import Loaded
from stowplan.config import read as read_config
from stowplan.config.conversion import V1, Notice

policy_option = click.option(
    "--policy",
    metavar="FILE",
    help="The policy, where the configuration refers to one in a ConfigMap, or on another machine.",
)
output_option = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Output format."
)


@click.command(cls=FileCommand)
@click.argument("file", metavar="FILE")
@policy_option
@output_option
def convert(file: str, policy: str | None, output: str) -> None:
    """Print FILE ('-' for standard input) as kubescheduler.config.k8s.io/v1, which kube-scheduler reads today.

    FILE is a KubeSchedulerConfiguration of any version since v1alpha1, or a Policy, in JSON or YAML. Default plugins
    and weights are those of the releases that read such files. Where the result cannot mean quite the same, a line on
    standard error says so.

    \b
    Examples:
      stowplan config convert scheduler-policy.json > scheduler.yaml
      stowplan config convert --policy policy.yaml old-scheduler.yaml -o json

    Exit status: 0 converted, 2 the file is not valid in its own version.
    """
    source = shown(file)
    loaded = read_config(read(file), source, policies=policies(policy))
    tell([*loaded.converted.notices, *_lost_addresses(loaded, source)])
    show(loaded.converted.value, output)


def show(value: Any, output: str) -> None:
    """Print plain data."""
    if output == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        from stowplan.config import yaml_text  # A costly import, which JSON does without.

        click.echo(yaml_text.dump(value), nl=False)


def _lost_addresses(loaded: Loaded, source: str) -> list[Notice]:
    plain = loaded.converted.plain_http
    if loaded.converted.era == V1 or not (plain.healthz or plain.metrics):
        return []
    where = plain.healthz or plain.metrics
    text = f"health and metrics are served by HTTPS on port 10259 only, no more by plain HTTP on {where}: mend probes"
    return [Notice(source, "$", text)]
