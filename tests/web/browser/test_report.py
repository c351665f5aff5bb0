"""Reports opened from disk: the page's views without a server, a request or a message."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.web.browser import clusters

READY_MILLISECONDS = 20_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clusters.write(tmp_path_factory.mktemp("report") / "cluster.json", clusters.cluster(60, 500))


@pytest.fixture
def opened(browser: Browser, cluster: Path) -> Iterator[Callable[..., Page]]:
    """Opens the report of a command, offline; at the end nothing may have been requested or logged."""
    messages: list[str] = []
    contexts = []

    def open_report(command: str, *options: str) -> Page:
        file = cluster.with_name(f"{command}.html")
        with open(file, "wb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "stowplan", command, *options, "-f", str(cluster), "-o", "html"],
                stdout=stream,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode in (0, 3), done.stderr
        context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
        context.set_default_timeout(READY_MILLISECONDS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: messages.append(request.url) if is_elsewhere(request.url, file) else None)
        page.goto(file.as_uri())
        page.locator("html[data-ready][data-painted]").wait_for(state="attached")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert messages == []


def is_elsewhere(url: str, file: Path) -> bool:
    return not url.startswith((file.as_uri(), "data:", "blob:"))


def test_a_simulation(opened: Callable[..., Page], artefacts: Path | None) -> None:
    page = opened("simulate")
    page.locator("html[data-run=ready]").wait_for(state="attached")
    if artefacts is not None:
        page.screenshot(path=artefacts / "report.png")
    page.evaluate("stowplan.timeline.seek(10)")
    assert page.locator(".timeline-time").inner_text() == "Attempt 10"
    page.evaluate("stowplan.timeline.seek(1e9)")
    page.locator(".group").first.click()
    page.get_by_text("Which nodes are left").wait_for()
    for view in ("pending", "queue", "config"):
        page.locator(f"nav [data-view={view}]").click()
        page.locator("#page h1").wait_for()
    page.get_by_role("button", name="Use the dark theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_comparison(opened: Callable[..., Page]) -> None:
    page = opened("diff", "default", "default")
    page.locator(".run-maps canvas").nth(1).wait_for()
    assert "No difference" in page.locator("#page").inner_text()
    page.get_by_text("Pending pods over time").wait_for()
    page.locator(".chart-box canvas").wait_for()
