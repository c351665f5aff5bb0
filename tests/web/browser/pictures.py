"""The documentation's pictures of the page: `make screenshots`. Fonts of the machine are used; Inter looks best."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.web.browser import clusters
from tests.web.browser.chromium import find_chromium, launch_arguments
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

FOLDER = Path(__file__).parents[3] / "docs" / "images"
MAX_BYTES = 200_000
POD = f"#/pod/media/encode-wide-{clusters.HASH}-0000"
ZOOM = (
    "() => { for (let i = 0; i < 7; i += 1) document.getElementById('zoom-in').click(); return stowplan.loadPods(); }"
)
ASK = """async () => {
  const node = 'eu-west-1a-compute-0000';
  location.hash = `#/what-if?drain=${node}`;
  while (!document.getElementById('run-what-if')) await new Promise(requestAnimationFrame);
  document.getElementById('run-what-if').click();
  while (!document.getElementById('what-if-sentence')) await new Promise((done) => { setTimeout(done, 100); });
}"""
PICTURES = {
    "web-map": ("#/map", 1280, 800, "light", ""),
    "web-pod": (POD, 1280, 800, "light", ""),
    "web-placed": ("#/pod/PLACED", 1280, 800, "light", ""),
    "web-cards": ("#/map", 1280, 800, "light", ZOOM),
    "web-what-if": ("#/map", 1280, 800, "dark", ASK),
}


def draw_all(*names: str) -> None:
    """Makes the named pictures, or all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = clusters.write(Path(folder) / "black-friday.yaml", clusters.cluster(1000, 10_000))
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=launch_arguments())
        with Site(file) as site:
            placed = site.pods("shop/checkout-")[0]
            for name in names or PICTURES:
                fragment, width, height, theme, script = PICTURES[name]
                visitor = Visit(browser, site, width=width, height=height, theme=theme)
                page = visitor.open(fragment.replace("PLACED", placed))
                page.locator("html[data-run=ready]").wait_for(state="attached")
                if script:
                    page.evaluate(script)
                page.wait_for_timeout(1500)
                path = FOLDER / f"{name}.png"
                page.screenshot(path=path)
                visitor.close()
                size = path.stat().st_size
                sys.stderr.write(f"{path.name}: {size:,} bytes\n")
                if size > MAX_BYTES or visitor.messages:
                    raise RuntimeError(f"{path.name}: {size:,} bytes, {visitor.messages}")
        browser.close()
