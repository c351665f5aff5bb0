"""Output of answers: text at the width of the terminal, JSON, YAML or HTML."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from stowplan.insight.text.layout import Layout

FORMATS = ("text", "wide", "json", "yaml", "html")
DEFAULT_TOP = 5
ALL = 1_000_000

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output format; wide adds columns to tables, also beyond the width of the terminal; html is one file with "
    "the views of 'stowplan web', which opens from disk.",
)
as_option = click.option(
    "--as",
    "profile",
    default="",
    metavar="PROFILE",
    help="Profile (schedulerName) by which a pod of another scheduler is explained; the first one by default.",
)


def print_answer(answer: Any, output: str, lines: Callable[[Layout], Iterable[str]], top: int = DEFAULT_TOP) -> None:
    """Prints an answer in the format, unless that is "printed"; `lines` renders it as text."""
    if output == "printed":
        return
    if output == "json":
        from stowplan.api import codec

        sys.stdout.buffer.write(codec.encode(answer) + b"\n")
        return
    if output == "yaml":
        from stowplan.api import codec
        from stowplan.config import yaml_text

        click.echo(yaml_text.dump(codec.whole(codec.encode(answer))), nl=False)
        return
    if output == "html":
        print_page(answer)
        return
    from rich.console import Console

    from stowplan.insight.text.layout import Layout

    console = Console()
    layout = Layout(console.width if console.is_terminal else None, top, always_wide=output == "wide")
    for line in lines(layout):
        click.echo(_printable(line))


def print_page(answer: Any) -> None:
    """Prints an answer as one self-contained HTML document."""
    from stowplan.library.answer_html import answer_page

    click.echo(answer_page(answer), nl=False)


def _printable(line: str) -> str:
    """Control characters, which names in manifests may contain, escaped."""
    return line if line.isprintable() else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)
