"""`stowplan new-plugin`: creates a project for a plugin."""

from __future__ import annotations

from pathlib import Path

import click

from stowplan.cli.command import Command


@click.command("new-plugin", cls=Command)
@click.argument("name")
@click.option(
    "--directory", metavar="FOLDER", help="Folder of the project; default: a new folder with the plugin's name."
)
def new_plugin(name: str, directory: str | None) -> None:
    """Create a project for a scheduling plugin: a package, passing tests, and configuration for all three modes.

    NAME may be written rack-care, rack_care or RackCare. The generated plugin rejects and prefers nodes by labels;
    replace these rules with yours. The tests need only pytest; those that need a real API server are skipped without
    one.

    \b
    Examples:
      Create a plugin and run its tests:
        stowplan new-plugin rack-care
        cd rack-care && python -m pytest
      Create it in a given folder:
        stowplan new-plugin RackCare --directory src/plugins/racks

    Exit status: 0 the project was created; 2 the name or the folder cannot be used.
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
    click.echo(f"stowplan: the plugin {names.plugin} is in {folder}; its README.md has the next steps:", err=True)
    click.echo(f"stowplan:   cd {folder} && python -m pytest", err=True)
