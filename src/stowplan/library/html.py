"""Answers as HTML: fragments for notebooks, and pages that stand alone (`-o html`).

Text is escaped; there are no scripts and no external resources. Colours follow the reader's preference for light or
dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: light-dark(#1b1f24, #e6e8eb); background: light-dark(#fff, #15181c); }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0;
  border-bottom: 1px solid light-dark(#d8dce1, #343a41); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.sentence { font-size: 1.1rem; } .note { color: light-dark(#5b636d, #9aa3ad); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def page(title: str, body: str) -> str:
    """A complete document with its style inside."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def heading(text: str, level: int = 2) -> str:
    return f"<h{level}>{escape(text)}</h{level}>\n"


def paragraph(text: str, style: str = "") -> str:
    return f"<p{_class(style)}>{escape(text)}</p>\n" if text else ""


def preformatted(lines: Iterable[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table; columns of numbers are right-aligned."""
    rows = [list(row) for row in rows]
    numeric = [bool(rows) and all(_is_number(row[index]) for row in rows) for index in range(len(heads))]
    cells = "".join(
        f"<th{_class('number' * each)}>{escape(head)}</th>" for head, each in zip(heads, numeric, strict=True)
    )
    parts = [f"<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n"]
    for row in rows:
        shown = (f"<td{_class('number' * each)}>{_cell(value)}</td>" for value, each in zip(row, numeric, strict=True))
        parts.append(f"<tr>{''.join(shown)}</tr>\n")
    return "".join([*parts, "</tbody>\n</table>\n", paragraph(note, "note")])


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if _is_number(value):
        return f"{value:,}"
    return escape(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
