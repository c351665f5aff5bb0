"""The documentation as a site: stages the project's pages and builds them with MkDocs.

`python -m tests.docs.site FOLDER` writes the site into the folder. Pages keep their paths, so links between pages work
as in the repository. A link to a source file leads to a page with the file in a block, and a link to a folder to a page
with all files of the folder; other linked files, such as pictures, are copied.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.docs.links import ELSEWHERE, resolve
from tests.docs.page import ROOT, Page, all_pages

CONFIG = ROOT / "docs" / "mkdocs.yml"
STYLE = ROOT / "docs" / "site.css"
ICON = ROOT / "docs" / "images" / "favicon.svg"

_CODE_IN_TABLE = re.compile(r"(?<=[| ])`[^`\n]*\\\|[^`\n]*`")
"""Inline code with escaped bars. GitHub removes the backslash, Python-Markdown shows it and needs none."""
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", "Dockerfile": "dockerfile", "LICENSE": "text"}
"""Languages of source files, by suffix or name."""
_COPIED = (".svg", ".png", ".ipynb", ".schema.json", "grafana/stowplan.json")
"""Endings of linked files that are copied as they are."""


def build(folder: Path) -> None:
    """Build the site into a folder. Raises CalledProcessError if MkDocs reports an error or a warning."""
    with tempfile.TemporaryDirectory() as staged:
        stage(Path(staged))
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        subprocess.run([*command, "--site-dir", folder.resolve()], cwd=staged, env=environment, check=True)
    for path in [folder / "README.zh" / "index.html", *(folder / "docs" / "zh").rglob("index.html")]:
        path.write_text(path.read_text().replace('<html lang="en"', '<html lang="zh-Hans"', 1))


def stage(folder: Path) -> None:
    """Write the configuration, the pages and the files that they link to into a folder."""
    shutil.copy(CONFIG, folder)
    for file in (STYLE, ICON):
        _write(folder, file, file.read_bytes())
    for page in all_pages():
        text = _CODE_IN_TABLE.sub(lambda code: code[0].replace("\\|", "|"), page.text)
        for link, target in _links_to_files(page):
            if target.as_posix().endswith(_COPIED):
                _write(folder, target, target.read_bytes())
            else:
                source = target.with_name(f"{target.name}.source.md")
                _write(folder, source, _source_page(target).encode())
                text = text.replace(f"]({link})", f"]({link}.source.md)")
        _write(folder, page.path, text.encode())


def _links_to_files(page: Page) -> Iterator[tuple[str, Path]]:
    """(link, target) for links to files and folders that are not pages."""
    for link in sorted(set(page.links())):
        target = resolve(page, link)[0]
        if not link.startswith(ELSEWHERE) and target.suffix != ".md":
            yield link, target


def _write(folder: Path, source: Path, content: bytes) -> None:
    target = folder / "docs" / source.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _source_page(path: Path) -> str:
    """A page, left out of the search, that shows a file or all files of a folder."""
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    parts = ["---\nsearch: {exclude: true}\n---", f"# {path.relative_to(ROOT)}"]
    for file in files:
        language = _LANGUAGES.get(file.suffix) or _LANGUAGES.get(file.name, "text")
        heading = [f"## {file.relative_to(path)}"] if path.is_dir() else []
        parts += [*heading, f"````{language}\n{file.read_text().rstrip()}\n````"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    build(Path(sys.argv[1]))
