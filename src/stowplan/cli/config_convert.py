"""`stowplan config convert`: converts a configuration of any version to kubescheduler.config.k8s.io/v1."""

import json
from typing import Any

import click

from stowplan.cli.command import FileCommand
from stowplan.cli.config_files import policies, print_notices
from stowplan.cli.streams import read, shown
from stowplan.config import Loaded
from stowplan.config import read as read_config
from stowplan.config.conversion import V1, Notice

policy_option = click.option(
    "--policy",
    metavar="FILE",
    help="Policy file to use if the configuration refers to a ConfigMap or to a path on another machine.",
)
output_option = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Output format."
)


@click.command(cls=FileCommand)
@click.argument("file", metavar="FILE")
@policy_option
@output_option
def convert(file: str, policy: str | None, output: str) -> None:
    """Convert FILE ('-' for standard input) to kubescheduler.config.k8s.io/v1, the version that kube-scheduler reads.

    FILE is a KubeSchedulerConfiguration of any version since v1alpha1, or a Policy, in JSON or YAML. Default plugins
    and weights are those of the releases that read this version. A warning on standard error marks each setting that
    has no exact equivalent.

    \b
    Examples:
      stowplan config convert scheduler-policy.json > scheduler.yaml
      stowplan config convert --policy policy.yaml old-scheduler.yaml -o json

    Exit status: 0 the file was converted, 2 the file is not valid in its version.
    """
    source = shown(file)
    loaded = read_config(read(file), source, policies=policies(policy))
    print_notices([*loaded.converted.notices, *_lost_addresses(loaded, source)])
    show(loaded.converted.value, output)


def show(value: Any, output: str) -> None:
    """Prints plain data as YAML or JSON."""
    if output == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        from stowplan.config import yaml_text  # Slow import, not needed for JSON.

        click.echo(yaml_text.dump(value), nl=False)


def _lost_addresses(loaded: Loaded, source: str) -> list[Notice]:
    plain = loaded.converted.plain_http
    if loaded.converted.version == V1 or not (plain.healthz or plain.metrics):
        return []
    where = plain.healthz or plain.metrics
    text = f"health and metrics are served over HTTPS on port 10259, no longer over HTTP on {where}: change the probes"
    return [Notice(source, "$", text)]
