"""Configurations as commands come by them: the policy that one refers to, and what there is to say about it."""

from collections.abc import Collection, Iterable

import click

from stowplan.cli.files import read, shown
from stowplan.config import KubeSchedulerConfiguration
from stowplan.config import read as read_config
from stowplan.config.conversion import Notice, PolicyReader, PolicySource
from stowplan.errors import ConfigError, InputError


def policies(given: str | None = None) -> PolicyReader:
    """Reads files; the policy `given` on the command line stands in for whatever the configuration refers to."""

    def reader(source: PolicySource) -> bytes:
        if given is not None:
            return read(given)
        if not source.file:
            key = r"{.data.policy\.cfg}"
            fetch = f"kubectl get configmap -n {source.namespace} {source.name} -o jsonpath='{key}'"
            raise ConfigError(f"the policy is in {source}: fetch it ({fetch}) and give it with --policy FILE")
        try:
            return read(source.file)
        except InputError as problem:
            raise ConfigError(f"the policy cannot be read: {problem}; where it is elsewhere, use --policy") from problem

    return reader


def load_file(file: str, known_plugins: Collection[str]) -> KubeSchedulerConfiguration:
    """The configuration of a file, of whatever version; what there is to say about that goes to standard error."""
    loaded = read_config(read(file), shown(file), known_plugins, policies())
    tell(loaded.converted.notices)
    return loaded.config


def tell(notices: Iterable[Notice]) -> None:
    """Print remarks on standard error."""
    for notice in notices:
        click.echo(f"stowplan: warning: {notice}", err=True)
