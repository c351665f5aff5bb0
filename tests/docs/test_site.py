"""The site of `make site`: every page is in it, two clicks from the start, and loads nothing from other hosts."""

import importlib.util
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from markdown_it import MarkdownIt
from tests.docs.page import ROOT, Page, all_pages
from tests.docs.site import CONFIG, build, stage
from tests.docs.translations import is_translation

MAX_CLICKS = 2
_ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
_TABS = re.compile(r'<nav class="md-tabs".*?</nav>', re.DOTALL)
_HEADING_LINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
_COUNTED = ("h1", "h2", "h3", "h4", "li", "tr", "pre", "strong", "em", "img")


class Document(HTMLParser):
    """Elements, links, loaded files and the text of an HTML document."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self._text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements[tag] += 1
        if tag == "a":
            self.links.append(found.get("href", ""))
        elif tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(found.get("href", ""))
        self.loaded += [found[name] for name in ("src", "srcset", "poster") if name in found]

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    @property
    def text(self) -> str:
        return "".join("".join(self._text).split())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in the folder `$STOWPLAN_SITE`, or a new one."""
    if "STOWPLAN_SITE" in os.environ:
        return Path(os.environ["STOWPLAN_SITE"])
    if importlib.util.find_spec("material") is None:
        pytest.skip("MkDocs is not installed: make site")
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def documents(site: Path) -> Mapping[str, str]:
    """The HTML of each page, by its path in the project."""
    return {page.name: (site / _place(page) / "index.html").read_text() for page in all_pages()}


def test_the_navigation_lists_every_page_once() -> None:
    listed = re.findall(r"^ *- (\S+\.md)$", CONFIG.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in all_pages()), "a page needs a line in docs/mkdocs.yml"


def test_links_to_files_lead_to_staged_files(tmp_path: Path) -> None:
    stage(tmp_path)
    staged = {path.relative_to(tmp_path / "docs").as_posix() for path in (tmp_path / "docs").rglob("*.*")}
    assert {page.name for page in all_pages()} <= staged
    assert "examples/00-first-plugin/plugin.py.source.md" in staged
    assert "(plugin.py.source.md)" in (tmp_path / "docs/examples/00-first-plugin/README.md").read_text()
    assert (
        "## scheduler-config.yaml"
        in (tmp_path / "docs/examples/05-custom-scheduler-extender/v1.36.source.md").read_text()
    )
    assert "docs/images/demo.svg" in staged


@pytest.mark.slow
def test_pages_show_what_github_shows(documents: Mapping[str, str]) -> None:
    """Python-Markdown and CommonMark differ in lists, tables and escapes; the pages use what both have in common."""
    markdown = MarkdownIt("commonmark").enable("table")
    for page in all_pages():
        found = _ARTICLE.search(documents[page.name])
        assert found, page.name
        shown, expected = Document(_HEADING_LINK.sub("", found[0])), Document(markdown.render(page.text))
        assert shown.text == expected.text, page.name
        for element in _COUNTED:
            assert shown.elements[element] == expected.elements[element], f"{page.name}: {element}"


@pytest.mark.slow
def test_every_page_is_two_clicks_from_the_start(documents: Mapping[str, str]) -> None:
    """Clicks on links in the text and on the tabs; the side bar, which has all pages of a tab, is not needed."""
    by_place = {_place(page).as_posix(): page.name for page in all_pages()}
    reached = {"README.md"}
    for _ in range(MAX_CLICKS):
        for name in list(reached):
            place = f"/{_place(Page(ROOT / name)).as_posix()}/".replace("/./", "/")
            parts = [*_ARTICLE.findall(documents[name]), *_TABS.findall(documents[name])]
            for link in Document("".join(parts)).links:
                target = urljoin(place, unquote(link).partition("#")[0]).strip("/") or "."
                reached |= {by_place[target]} if target in by_place else set()
    assert {page.name for page in all_pages()} - reached == set()


@pytest.mark.slow
def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    for path in site.rglob("*.html"):
        elsewhere = [url for url in Document(path.read_text()).loaded if re.match(r"(https?:)?//", url)]
        assert not elsewhere, path
    for path in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", path.read_text()), path


@pytest.mark.slow
def test_the_search_finds_pages_and_no_source_files(site: Path, documents: Mapping[str, str]) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {entry["location"].partition("#")[0].strip("/") or "." for entry in index["docs"]}
    assert places == {_place(page).as_posix() for page in all_pages()}


@pytest.mark.slow
def test_translations_declare_their_language(documents: Mapping[str, str]) -> None:
    for page in all_pages():
        language = "zh-Hans" if is_translation(page) else "en"
        assert f'<html lang="{language}"' in documents[page.name], page.name


def _place(page: Page) -> Path:
    """The folder of a page in the site."""
    path = page.path.relative_to(ROOT)
    return path.parent if path.name == "README.md" else path.with_suffix("")
