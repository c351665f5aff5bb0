"""Every view opens at every width in both themes, without a message on the console, and without violations of axe."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.browser.clusters import HASH
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

PENDING_POD = f"media/encode-wide-{HASH}-0000"
NEVER_POD = f"search/nvme-{HASH}-0000"
GATED_POD = f"data/report-{HASH}-0000"
PLACED_POD = "shop/checkout"
"""Replaced by a pod of the workload that is on a node."""
NODE = "eu-west-1a-compute-0000"

VIEWS = {
    "map": ("", "#panel h1", "pods are pending"),
    "pod": (f"#/pod/{PENDING_POD}", "#panel .sentence", "CPU on one node"),
    "never": (f"#/pod/{NEVER_POD}", "#panel .sentence", "disktype=nvme"),
    "gated": (f"#/pod/{GATED_POD}", "#panel .sentence", "example.com/quota"),
    "placed": (f"#/pod/{PLACED_POD}", "#panel .sentence", "points"),
    "matrix": (f"#/matrix/{PENDING_POD}", "#page .virtual-row >> nth=0", "eu-west"),
    "scores": (f"#/matrix/{PLACED_POD}", "#page .virtual-row >> nth=0", "eu-west"),
    "node": (f"#/node/{NODE}", "#panel h1", NODE),
    "workload": ("#/workload/media/Deployment/encode-wide", "#panel .said >> nth=0", "9 pods are pending"),
    "pending": ("#/pending", "#pending-title", "4 reasons"),
    "queue": ("#/queue", "#queue-counts", "unschedulable"),
    "what-if": ("#/what-if", "#panel h1", "What if"),
    "compare": ("#/compare", "#page h1", "Compare"),
    "config": ("#/config", "#page h2 >> nth=0", "default-scheduler"),
}
AXE_LAYOUTS = ((1600, "light"), (1600, "dark"), (390, "light"))
CLIPPED = """() => {
  const shown = [...document.querySelectorAll('select')].filter((element) => element.offsetParent);
  const context = document.createElement('canvas').getContext('2d');
  return shown.filter((element) => {
    const style = getComputedStyle(element);
    context.font = style.font;
    const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return context.measureText(element.selectedOptions[0]?.text || '').width > room + 1;
  }).map((element) => element.id || element.ariaLabel);
}"""
AXE = """async () => {
  const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = await axe.run(document, { runOnly });
  const where = node => `${node.target.join(' ')} ${node.any[0]?.message || ''}`;
  return violations.map(found => `${found.id}: ${found.nodes.slice(0, 3).map(where).join(' | ')}`);
}"""


@pytest.fixture(scope="module")
def placed_pod(site: Site) -> str:
    """A pod of shop/checkout that is on a node."""
    return site.pods(f"{PLACED_POD}-")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1600, 1280, 820, 390])
def test_every_view_opens(
    visit: Callable[..., Visit], placed_pod: str, axe: str, artefacts: Path | None, width: int, theme: str
) -> None:
    visitor = visit(width=width, theme=theme)
    page = visitor.page
    page.evaluate(axe)
    violations: dict[str, list[str]] = {}
    for name, (fragment, selector, text) in VIEWS.items():
        visitor.go(fragment.replace(PLACED_POD, placed_pod) or "#/map")
        expect(page.locator(selector)).to_contain_text(text)
        page.wait_for_timeout(50)
        visitor.screenshot(artefacts, f"{name}-{width}-{theme}")
        clipped = page.evaluate(CLIPPED)
        assert clipped == [], f"{name}: the text of {clipped} is cut"
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{name} is wider than the window"
        if (width, theme) in AXE_LAYOUTS:
            violations[name] = page.evaluate(AXE)
    assert not any(violations.values()), violations
