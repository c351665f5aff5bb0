"""What-if in the page: changes by mouse and keyboard, the answer in words and on the map, and the comparison."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.browser import clusters
from tests.web.browser.site import Site
from tests.web.browser.test_views import AXE
from tests.web.browser.visiting import Visit

ANSWER_MILLISECONDS = 30_000


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four nodes with room for the pods of one of them."""
    nodes = [clusters.node(f"node-{index}", 4, 8, {"pool": f"p{index % 2}"}) for index in range(4)]
    pods = [
        clusters.pod("shop", f"web-{index:03d}", "web", 500, 256, nodeName=f"node-{index % 4}") for index in range(16)
    ]
    with Site(clusters.write(tmp_path_factory.mktemp("roomy") / "roomy.json", [*nodes, *pods])) as site:
        yield site


def test_drain_from_the_page_of_a_node_and_compare(
    roomy: Site, visit: Callable[..., Visit], axe: str, artefacts: Path | None
) -> None:
    visitor = visit("#/node/node-1", at=roomy)
    page = visitor.page
    page.evaluate(axe)
    expect(page.get_by_role("button", name="Play")).to_be_disabled()  # All pods have a node: there is no run.
    page.get_by_role("link", name="What if it were drained?").click()
    expect(page.locator(".changes")).to_contain_text("node-1")
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.locator("#what-if-sentence")).to_be_visible(timeout=ANSWER_MILLISECONDS)
    expect(page.locator("#panel")).to_contain_text("stowplan what-if")
    visitor.screenshot(artefacts, "what-if-answer")
    assert page.evaluate(AXE) == []
    page.get_by_role("link", name="Compare side by side").click()
    expect(page.locator("#page figure canvas")).to_have_count(2)
    expect(page.locator("#page .chart-box canvas")).to_be_visible()
    expect(page.locator("#page")).to_contain_text("by scheduling attempts")
    visitor.screenshot(artefacts, "compare")
    assert page.evaluate(AXE) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    visitor.screenshot(artefacts, "compare-390-dark")
    assert page.evaluate(AXE) == []
    page.go_back()
    expect(page.locator("#panel h1")).to_contain_text("What if")
    assert page.evaluate(AXE) == []
    page.go_forward()
    page.set_viewport_size({"width": 1600, "height": 940})
    page.get_by_role("radio", name="difference").check()
    expect(page.locator("#page figure canvas")).to_have_count(1)


def test_changes_are_added_and_removed_by_keys(roomy: Site, visit: Callable[..., Visit]) -> None:
    visitor = visit("#/what-if", at=roomy)
    page = visitor.page
    page.get_by_label("Node, or label=value").fill("node-2")
    page.keyboard.press("Enter")
    expect(page.locator(".changes li")).to_have_count(1)
    page.get_by_label("Kind of change").select_option("weight")
    page.get_by_label("Plugin").fill("NodeResourcesFit")
    page.get_by_label("Weight", exact=True).fill("5")
    page.locator("#add-change").click()
    expect(page.locator(".changes")).to_contain_text("NodeResourcesFit=5")
    page.get_by_role("button", name="Remove: Drain a node: node-2").press("Enter")
    expect(page.locator(".changes")).not_to_contain_text("node-2")
    page.locator("#add-change").click()
    page.get_by_label("Plugin").fill("")
    page.locator("#add-change").click()
    expect(page.locator(".change-form .problem")).to_contain_text("Fill in")
