"""Tests of the documentation: every block is run, links and generated parts are checked."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from tests.docs.links import dead_links, orphans
from tests.docs.notebooks import executed, notebooks
from tests.docs.page import LANGUAGES, ROOT, Page, all_pages, documentation
from tests.docs.running import Run, matches
from tests.docs.segments import FILES, calls, current
from tests.docs.translations import facts, is_translation, outline, pairs, targets, with_blocks_of

from stowplan.cli.main import COMMANDS as COMMAND_TABLE
from stowplan.config.defaults import DEFAULT_WEIGHTS
from stowplan.testing import KubeApi, KubeScheduler, node, pod

COMMANDS = ("sh", "console", "python")


TUTORIAL = [Page(ROOT / "docs" / "tutorial" / f"first-{name}.md") for name in ("plugin", "extender", "scheduler")]


def pages_to_run() -> Iterator[object]:
    """Groups of pages that share a folder: the tutorial in its order, and each other page alone."""
    apart = {page.path for page in TUTORIAL}
    others = [page for page in documentation() if page.path not in apart and not is_translation(page)]
    for pages in (TUTORIAL, *([page] for page in others)):
        if any(block.language in COMMANDS for page in pages for block in page.blocks):
            marks = (pytest.mark.e2e,) if any(page.needs_control_plane for page in pages) else ()
            name = "the tutorial" if pages is TUTORIAL else pages[0].name
            yield pytest.param(pages, marks=(pytest.mark.slow, *marks), id=name)


@pytest.mark.parametrize("pages", list(pages_to_run()))
def test_the_blocks_of(pages: list[Page], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    environment = {}
    if any(page.needs_control_plane for page in pages):
        request.getfixturevalue("kube_api")
        environment["KUBECONFIG"] = str(request.getfixturevalue("control_plane").kubeconfig())
    for page in pages:
        Run(page, tmp_path, environment).run()


@pytest.mark.e2e
@pytest.mark.slow
def test_the_readmes_extender_serves_kube_scheduler(
    kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler], tmp_path: Path
) -> None:
    """The stock kube-scheduler, with the configuration that the README writes, places a pod through its extender."""

    def place() -> None:
        kube_api.create(node("cow", labels={"example.com/rack-state": "maintenance"}))
        kube_api.create(node("dog", labels={"example.com/spare-cooling": "1"}))
        kube_api.create(node("eel", labels={"example.com/spare-cooling": "3"}))
        start_kube_scheduler(config=yaml.safe_load((tmp_path / "kube-scheduler.yaml").read_text()))
        kube_api.create(pod("web", namespace))
        assert kube_api.wait_for_pods_bound(namespace, count=1) == {"web": "eel"}

    Run(Page(ROOT / "README.md"), tmp_path, {}).run(place)


def test_every_page_of_the_tutorial_is_run_in_its_place() -> None:
    written = {page.path for page in documentation() if page.name.startswith("docs/tutorial/")}
    assert {page.path for page in TUTORIAL} == written


def test_links_lead_somewhere() -> None:
    assert list(dead_links(all_pages())) == []


def test_every_page_is_found_from_the_readme() -> None:
    assert orphans(all_pages()) == []


@pytest.mark.parametrize("page", documentation(), ids=lambda page: page.name)
def test_every_block_has_a_known_language(page: Page) -> None:
    """Every block has a known language, fences start at the beginning of a line, and data parses."""
    assert "\n ```" not in page.text
    assert page.text.count("\n```") == 2 * len(page.blocks), "a fence is not closed"
    for block in page.blocks:
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: {block.language!r}"
        if block.language == "yaml":
            list(yaml.safe_load_all(block.text))
        if block.language == "json" and "…" not in block.text:
            for text in [block.text] if block.text.startswith(("{\n", "[\n")) else block.text.splitlines():
                json.loads(text)
        assert block.marks.get("not run", "reason"), f"{page.name}:{block.line}: why is it not run?"


@pytest.mark.parametrize("page", documentation(), ids=lambda page: page.name)
def test_the_text_repeats_what_comments_say(page: Page) -> None:
    """Comments are not rendered: the text before a block must name the file, or mention another terminal."""
    for block in page.blocks:
        if "file" in block.marks:
            assert f"`{block.marks['file']}`" in block.lead, f"{page.name}:{block.line}: save it as what?"
        if "background" in block.marks:
            assert "终端" in block.lead or "terminal" in block.lead, (
                f"{page.name}:{block.line}: it does not end: mention another terminal"
            )


@pytest.mark.parametrize("page", [page for page in documentation() if calls(page)], ids=lambda page: page.name)
def test_generated_parts_are_current(page: Page) -> None:
    assert page.text == current(page), "make docs brings it up to date"


@pytest.mark.parametrize("name", FILES)
def test_generated_files_are_current(name: str) -> None:
    assert (ROOT / name).read_text() == FILES[name](), "make docs brings it up to date"


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_notebooks_show_what_their_cells_give(path: Path) -> None:
    """Every cell is executed, in order; its output is the one in the file."""
    assert path.read_text() == executed(path), "make docs brings it up to date"


@pytest.mark.parametrize(("original", "translation"), pairs(), ids=lambda page: page.name)
def test_translations_correspond_to_their_originals(original: Page, translation: Page) -> None:
    """A change of an English page needs the same change of its translation; `make docs` copies blocks."""
    assert outline(translation) == outline(original)
    assert [block.text for block in translation.blocks] == [block.text for block in original.blocks]
    assert translation.text == with_blocks_of(original, translation), "make docs brings it up to date"
    assert targets(translation) == targets(original)
    assert facts(translation) == facts(original)


def test_every_default_plugin_has_its_part() -> None:
    page = Page(ROOT / "docs" / "reference" / "default-plugins.md")
    assert calls(page) == ["default-plugins", *(f"plugin {name}" for name in DEFAULT_WEIGHTS)]


@pytest.mark.parametrize(
    ("module", "page"),
    [
        ("stowplan", "plugin-api"),
        ("stowplan.library", "library-api"),
        ("stowplan.evaluation", "library-api"),
        ("stowplan.testing", "testing-api"),
        ("stowplan.testing.extender", "testing-api"),
    ],
)
def test_every_public_name_is_in_the_reference(module: str, page: str) -> None:
    pages = [Page(ROOT / "docs" / "reference" / f"{name}.md").text for name in {page, "library-api"}]
    for name in import_module(module).__all__:
        assert any(re.search(rf"`{name}\b|### {name}\n", text) for text in pages), name


def test_every_command_is_documented_once() -> None:
    parts = [call.split() for page in documentation() for call in calls(page)]
    assert sorted(name for maker, *names in parts if maker == "commands" for name in names) == sorted(
        ("stowplan", *COMMAND_TABLE)
    )


def test_the_number_of_recorded_verdicts_is_current() -> None:
    files = sorted((ROOT / "tests" / "conformance").glob("*.jsonl.gz"))
    cases = sum(gzip.decompress(file.read_bytes()).count(b"\n") for file in files)
    page = Page(ROOT / "docs" / "explanation" / "fidelity.md")
    assert f"{cases:,} cases of a pending pod and a cluster, made at random in {len(files)} categories" in page.text


def test_the_pages_promise_nothing() -> None:
    for page in documentation():
        for word in ("TODO", "FIXME", "coming soon", "not yet"):
            assert word not in page.text, f"{page.name}: {word}"


@pytest.mark.parametrize(
    ("printed", "expected", "result"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\nb\nc\n", "a\n…\nc\n", True),
        ("a took 3 ms\n", "a took … ms\n", True),
        ("a\nb\n", "a\n", False),
        ("a.b\n", "a?b\n", False),
    ],
)
def test_comparison(printed: str, expected: str, result: bool) -> None:
    assert matches(printed, expected) is result


def test_a_page_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "# A `b` c!\n\n[x](#a-b-c) `[no](link)`\n\n<!-- file: x.txt -->\n```text\nhi\n```\n\n"
        "<!-- status: 3 -->\n```sh\ncat x.txt; exit 3\n```\n\n```text\nhi\n```\n"
    )
    page = Page(path)
    assert page.anchors == ("a-b-c",)
    assert list(page.links()) == ["#a-b-c"]
    assert [(b.language, dict(b.marks), b.after_previous) for b in page.blocks] == [
        ("text", {"file": "x.txt"}, False),
        ("sh", {"status": "3"}, False),
        ("text", {}, True),
    ]
    assert (ROOT / "README.md").exists()
