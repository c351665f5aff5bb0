"""The report: the page as one HTML file with its data, which opens from disk and requests nothing.

Browsers block modules of files, so the modules become functions that return their exports, one after the other. The
policy allows this script and style alone, by their hashes. Equal data gives equal bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec

from stowplan.errors import StowplanError
from stowplan.web.assets import Asset, read_assets

_START_MODULE, _VIEWS_MODULE, _NET_MODULE = "app.js", "views.js", "net.js"
_IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([^']+)';\n", re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|const|class)) (\w+)", re.M)
_EXPORT_LIST = re.compile(r"^export \{ (\w+) \};\n", re.M)
_STYLE_LINK = re.compile(r'^<link rel="stylesheet" href="static/([^"]+)">\n', re.M)
_OTHER_LINKS = re.compile(r'^(<link rel="(?:modulepreload|icon)".*>|<!-- modules -->|<script .*</script>)\n', re.M)
_CSS_URL = re.compile(r"url\(([\w./-]+\.svg)\)")
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_DATA = re.compile(rb'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>')
MAX_REPORT_BYTES = 1024**3
ANSWER_PATH_SAFE = "!'()*~-._"
"""Characters that the page's encodeURIComponent leaves as they are."""
_BOOT = """
const packed = Uint8Array.from(atob(document.getElementById('data').textContent), (letter) => letter.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
new Response(stream).json().then(({ start, answers }) => {
  if (!location.hash) location.replace(start);
  {net}.embedAnswers(answers);
  return {app}.startPage(() => Promise.resolve({views}));
});
"""


class InvalidReportError(StowplanError):
    """A file that is not a report."""


class _Contents(msgspec.Struct):
    answers: dict[str, msgspec.Raw]


def report_answers(content: bytes) -> dict[str, msgspec.Raw]:
    """The answers of a report by their path. Raises InvalidReportError."""
    found = _DATA.search(content)
    if found is None:
        raise InvalidReportError("it contains no data of a report")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(base64.b64decode(found[1]))) as packed:
            data = packed.read(MAX_REPORT_BYTES + 1)
        if len(data) > MAX_REPORT_BYTES:
            raise InvalidReportError(f"it has more than {MAX_REPORT_BYTES:,} bytes of data")
        return msgspec.json.decode(data, type=_Contents).answers
    except (ValueError, OSError, EOFError, zlib.error, msgspec.DecodeError) as problem:
        raise InvalidReportError(str(problem)) from problem


def report(answers: Mapping[str, Any], start: str = "#/map", title: str = "Stowplan") -> bytes:
    """The file. `answers` are the values of paths below /api/v1/; `start` is the view that opens first."""
    assets = read_assets()
    index = assets["index.html"].content.decode()
    style = "\n".join(_style(assets, path) for path in _STYLE_LINK.findall(index))
    script = _script(assets)
    policy = _POLICY.format(script=_sha256(script), style=_sha256(style))
    data = msgspec.json.encode({"start": start, "answers": answers}, order="deterministic")
    packed = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    icon = base64.b64encode(assets["icon.svg"].content).decode()
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n<style>{style}</style>\n'
    )
    body = f'<script type="text/plain" id="data">{packed}</script>\n<script>{script}</script>\n'
    page = _OTHER_LINKS.sub("", _STYLE_LINK.sub("", index))
    page = page.replace("<title>Stowplan</title>", f"<title>{escape(title)}</title>")
    page = page.replace('<meta charset="utf-8">\n', '<meta charset="utf-8">\n' + head, 1)
    return page.replace("</body>", body + "</body>", 1).encode()


def _style(assets: Mapping[str, Asset], path: str) -> str:
    def embedded(match: re.Match[str]) -> str:
        content = base64.b64encode(assets[match[1]].content).decode()
        return f"url(data:image/svg+xml;base64,{content})"

    return _CSS_URL.sub(embedded, assets[path].content.decode())


def _script(assets: Mapping[str, Asset]) -> str:
    """All modules that the page needs, in an order in which each comes after those that it imports."""
    ordered: dict[str, str] = {}
    for path in (_NET_MODULE, _START_MODULE, _VIEWS_MODULE):
        _add_module(assets, path, ordered, ())
    boot = _BOOT
    for word, path in (("net", _NET_MODULE), ("app", _START_MODULE), ("views", _VIEWS_MODULE)):
        boot = boot.replace(f"{{{word}}}", _variable(path))
    return "(() => {\n'use strict';\n" + "".join(ordered.values()) + boot + "})();\n"


def _add_module(assets: Mapping[str, Asset], path: str, ordered: dict[str, str], importers: tuple[str, ...]) -> None:
    if path in ordered:
        return
    if path in importers:
        raise ValueError(f"modules import each other: {' -> '.join((*importers, path))}")
    text = assets[path].content.decode()
    for _, imported in _IMPORT.findall(text):
        _add_module(assets, imported, ordered, (*importers, path))
    exports = [name for _, name in _EXPORT.findall(text)] + _EXPORT_LIST.findall(text)
    body = _IMPORT.sub(lambda match: f"const {{{match[1]}}} = {_variable(match[2])};\n", text)
    body = _EXPORT_LIST.sub("", _EXPORT.sub(r"\1 \2", body))
    ordered[path] = f"const {_variable(path)} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();\n"


def _variable(path: str) -> str:
    return "m_" + re.sub(r"\W", "_", path.removesuffix(".js"))


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
