"""One browser for the session, the server of a cluster, and pages whose messages and requests are checked."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.web.browser import clusters
from tests.web.browser.chromium import axe_file, find_chromium, launch_arguments
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

EXPECT_MILLISECONDS = 20_000
WIDTHS = {1600: 940, 1280: 800, 820: 1100, 390: 844}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.web)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module: Playwright runs an event loop on the thread, which other tests must not find."""
    path = find_chromium()
    if path is None:
        pytest.skip("Chromium is missing; `python -m tests.web.browser` installs it")
    expect.set_options(timeout=EXPECT_MILLISECONDS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=launch_arguments())
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    if not axe_file().is_file():
        pytest.skip("axe-core is missing; `python -m tests.web.browser` fetches it")
    return axe_file().read_text()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster of 240 nodes with pending pods of several kinds."""
    file = clusters.write(tmp_path_factory.mktemp("web") / "black-friday.json", clusters.cluster(240, 2400))
    with Site(file) as running:
        yield running


@pytest.fixture(scope="session")
def artefacts() -> Path | None:
    """Where screenshots are kept: the folder in $STOWPLAN_SCREENSHOTS."""
    folder = os.environ.get("STOWPLAN_SCREENSHOTS")
    if not folder:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Visit]]:
    """Opens pages; at the end of the test none of them may have logged an error or made a request elsewhere."""
    opened: list[Visit] = []

    def open_page(
        fragment: str = "", *, at: Site = site, width: int = 1600, theme: str = "light", **options: object
    ) -> Visit:
        visitor = Visit(browser, at, width=width, height=WIDTHS.get(width, 900), theme=theme, **options)
        opened.append(visitor)
        visitor.open(fragment)
        return visitor

    yield open_page
    for visitor in opened:
        visitor.close()
    for visitor in opened:
        assert visitor.messages == []


@pytest.fixture(scope="module")
def shared_visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """A page that the tests of a module share, 1,600 pixels wide; loading a page takes longer than most tests."""
    visitor = Visit(browser, site, width=1600, height=WIDTHS[1600], theme="light")
    visitor.open()
    yield visitor
    visitor.close()


@pytest.fixture
def view(shared_visit: Visit) -> Iterator[Callable[[str], Visit]]:
    """Opens views on the shared page, which starts as after loading."""
    shared_visit.reset()

    def open_view(fragment: str) -> Visit:
        shared_visit.go(fragment)
        return shared_visit

    yield open_view
    messages = list(shared_visit.messages)
    shared_visit.messages.clear()
    assert messages == []


@pytest.fixture
def page(view: Callable[[str], Visit]) -> Page:
    """The map of the cluster."""
    return view("#/map").page
