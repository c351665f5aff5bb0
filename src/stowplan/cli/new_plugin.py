"""`stowplan new-plugin`: a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from stowplan.cli.command import Command


@click.command("new-plugin", cls=Command)
@click.argument("name")
@click.option("--directory", metavar="FOLDER", help="Where to put it; by default a new folder of that name, here.")
def new_plugin(name: str, directory: str | None) -> None:
    """Make a project for a scheduling plugin: a package, tests that pass, and configuration for all three modes.

    NAME may be written rack-care, rack_care or RackCare. The plugin keeps pods off some nodes and prefers others, by
    labels, until its rules are replaced by yours. Its tests need nothing but pytest, save one that wants a real API
    server and says so where there is none.

    \b
    Examples:
      A new plugin, and its tests:
        stowplan new-plugin rack-care
        cd rack-care && python -m pytest
      Into a folder of my choice:
        stowplan new-plugin RackCare --directory src/plugins/racks

    Exit status: 0 the project is there; 2 the name or the folder cannot be used.
    """
    from stowplan.errors import InputError
    from stowplan.plugins.registry import REGISTRY
    from stowplan.scaffold import Names, files_of, write_project

    names = Names.of(name)
    if names.plugin in REGISTRY:
        raise InputError(f'"{names.plugin}" is the name of an in-tree plugin; choose another')
    folder = Path(directory) if directory is not None else Path(names.project)
    texts = files_of(names)
    write_project(folder, texts)
    for path in texts:
        click.echo(folder / path)
    click.echo(f"stowplan: the plugin {names.plugin} is in {folder}; its README.md tells how to go on:", err=True)
    click.echo(f"stowplan:   cd {folder} && python -m pytest", err=True)
