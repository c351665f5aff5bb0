"""The documentation as a site: stages the project's pages and builds them with MkDocs.

`python -m tests.docs.site FOLDER` writes the site into the folder. Pages keep their paths, so links between pages work
as in the repository. A link to a source file leads to a page with the file in a block, and a link to a folder to a page
with all files of the folder; other linked files, such as pictures and JSON, are copied.
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
ASSETS = [ROOT / "docs" / name for name in ("site.css", "site.js", "images/favicon.svg")]

_CODE_IN_TABLE = re.compile(r"(?<=[| ])`[^`\n]*\\\|[^`\n]*`")
"""Inline code with escaped bars. GitHub removes the backslash, Python-Markdown shows it and needs none."""
_LANGUAGES = {".py": "python", ".yaml": "yaml", "Dockerfile": "dockerfile", "LICENSE": "text"}
"""Languages of files that browsers do not show, by suffix or name. Other files are copied."""
_SEARCH_BOOSTS = {
    "CHANGELOG.md": 0.3,
    "docs/explanation/answers-compared.md": 0.2,
    "docs/explanation/coming-from-the-classic-tutorials.md": 0.3,
}
"""Factors of pages that mention everything and explain little."""


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
    for file in ASSETS:
        _write(folder, file, file.read_bytes())
    for page in all_pages():
        text = _CODE_IN_TABLE.sub(lambda code: code[0].replace("\\|", "|"), page.text)
        for link, target in _links_to_files(page):
            if target.is_file() and not _language(target):
                _write(folder, target, target.read_bytes())
            else:
                source = target.with_name(f"{target.name}.source.md")
                _write(folder, source, _source_page(target).encode())
                text = text.replace(f"]({link})", f"]({link}.source.md)")
        if page.name in _SEARCH_BOOSTS:
            text = f"---\nsearch: {{boost: {_SEARCH_BOOSTS[page.name]}}}\n---\n\n{text}"
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
        heading = [f"## {file.relative_to(path)}"] if path.is_dir() else []
        parts += [*heading, f"````{_language(file)}\n{file.read_text().rstrip()}\n````"]
    return "\n\n".join(parts) + "\n"


def _language(file: Path) -> str:
    return _LANGUAGES.get(file.suffix) or _LANGUAGES.get(file.name, "")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
