"""Markdown tables."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: object) -> str:
    """As inline code; nothing where there is nothing to show."""
    return f"`{text}`" if str(text) else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
