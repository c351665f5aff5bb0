"""Lines of styled text, as a terminal or a file takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Print lines in colour on a terminal, and plainly, without a width to fit into, anywhere else."""
    if console.is_terminal:
        for line in lines:
            console.print(line, soft_wrap=True)
    else:
        click.echo("\n".join(line.plain for line in lines))
