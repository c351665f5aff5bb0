"""Plots in files: SVG, or PNG with the extra `plots`."""

from __future__ import annotations

import errno
import importlib
import os
from pathlib import Path

from stowplan.errors import InputError, MissingExtraError, os_error_text
from stowplan.study.files import write_whole

SVG_SUFFIX, PNG_SUFFIX = ".svg", ".png"
_PNG_ZOOM = 2.0
"""Pixels for each unit of the SVG."""
FONT_FAMILIES = "Inter, Arial, Helvetica, Liberation Sans, DejaVu Sans, Noto Sans, sans-serif"
"""Families by name: for `sans-serif` alone the PNG renderer takes Arial, and draws no text where it is missing."""
_STYLE = (
    f"<style>text{{font:11px {FONT_FAMILIES};fill:#546070}}"
    ".title{font-size:13px;font-weight:650;fill:#10161f}"
    ".grid{stroke:#e2e7ec}</style>"
)
_SVG_TAG = "<svg "


def check_plot_file(file: Path, made: Path | None = None) -> None:
    """Raises InputError for a file whose name ends in another way than .svg or .png, for .png without the extra, and
    if its folder does not exist and is not the one that is made for results."""
    if file.suffix not in (SVG_SUFFIX, PNG_SUFFIX):
        raise InputError(f"{file}: the name of a plot ends in {SVG_SUFFIX} or {PNG_SUFFIX}")
    if file.parent != made and not file.parent.is_dir():
        raise InputError(f"{file}: {os.strerror(errno.ENOENT)}")
    if file.suffix == PNG_SUFFIX:
        try:
            importlib.import_module("resvg_py")
        except ImportError:
            raise MissingExtraError(f"{file}: PNG needs the extra `plots`", "plots") from None


def write_plot(svg: str, file: Path) -> None:
    """Write an SVG as it is, or as PNG on white, by the end of the file's name. Raises InputError."""
    check_plot_file(file)
    content = svg.encode()
    if file.suffix == PNG_SUFFIX:
        content = bytes(importlib.import_module("resvg_py").svg_to_bytes(svg, background="#ffffff", zoom=_PNG_ZOOM))
    try:
        write_whole(file, content)
    except OSError as problem:
        raise InputError(f"{file}: {os_error_text(problem)}") from problem


def standalone(chart: str) -> str:
    """A chart of a page as an SVG document with its styles."""
    head, tag, rest = chart.partition(_SVG_TAG)
    attributes, _, body = rest.partition(">")
    return f'{head}{tag}xmlns="http://www.w3.org/2000/svg" {attributes}>{_STYLE}{body}'
