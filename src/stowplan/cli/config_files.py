"""Reads configuration files for commands, with the Policy that a configuration refers to, and prints notices."""

from collections.abc import Callable, Collection, Iterable

import click

from stowplan.cli.streams import read, shown
from stowplan.config import KubeSchedulerConfiguration
from stowplan.config import read as read_config
from stowplan.config.conversion import Notice, PolicyReader, PolicySource
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError, InputError

ConfigReader = Callable[[Release], KubeSchedulerConfiguration]
"""Reads a configuration with the defaults of a release."""


def policies(given: str | None = None) -> PolicyReader:
    """Returns a reader of Policy files. `given`, from the command line, replaces the configuration's reference."""

    def reader(source: PolicySource) -> bytes:
        if given is not None:
            return read(given)
        if not source.file:
            key = r"{.data.policy\.cfg}"
            fetch = f"kubectl get configmap -n {source.namespace} {source.name} -o jsonpath='{key}'"
            raise ConfigError(f"the policy is in {source}: fetch it ({fetch}) and pass it with --policy FILE")
        try:
            return read(source.file)
        except InputError as problem:
            raise ConfigError(f"the policy cannot be read: {problem}; pass its path with --policy") from problem

    return reader


def load_file(file: str, known_plugins: Collection[str], release: Release = LATEST) -> KubeSchedulerConfiguration:
    """Loads a configuration of any version. Conversion notices go to standard error."""
    return config_reader(file, known_plugins, release)(release)


def config_reader(file: str, known_plugins: Collection[str], release: Release) -> ConfigReader:
    """Reads a configuration file for a release, and returns a function that reads the same text for any other one.
    Conversion notices go to standard error, once."""
    text, source = read(file), shown(file)
    first = read_config(text, source, known_plugins, policies(), release)
    print_notices(first.converted.notices)

    def reader(other: Release) -> KubeSchedulerConfiguration:
        return first.config if other is release else read_config(text, source, known_plugins, policies(), other).config

    return reader


def print_notices(notices: Iterable[Notice]) -> None:
    """Prints notices as warnings on standard error."""
    for notice in notices:
        click.echo(f"stowplan: warning: {notice}", err=True)
