"""Budgets with 5,000 nodes and 50,000 pods: bytes, paint, elements, an update. Frame intervals are printed."""

import statistics
import sys
from collections.abc import Callable, Iterator

import pytest
from tests.web.browser import clusters, frames
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

MAX_FIRST_PICTURE_BYTES = 150_000
MAX_INITIAL_DATA_BYTES = 1_500_000
MAX_PAINT_MILLISECONDS = 6
MAX_CARDS_PAINT_MILLISECONDS = 10
SMALLEST_CARD_PIXELS = 60
MAX_UPDATE_MILLISECONDS = 50
MAX_ELEMENTS = 3000
PAINT_ROUNDS = 3
"""Other processes delay painting; one round within the budget is enough."""
PAN = """async () => {
  const { map } = stowplan;
  const gaps = [];
  map.paints.length = 0;
  let last = performance.now();
  for (let i = 0; i < 120; i += 1) {
    const event = new WheelEvent('wheel', { deltaY: i < 60 ? -3 : 3, clientX: 400, clientY: 400, cancelable: true });
    map.canvas.dispatchEvent(event);
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return [map.paints, gaps];
}"""
FIRST = """() => {
  const preloaded = document.querySelectorAll('link[rel=modulepreload], link[rel=stylesheet]');
  const others = ['/', '/static/boot.js', '/api/v1/hello', '/api/v1/map'];
  return [...[...preloaded].map(link => link.href), ...others.map(path => location.origin + path)];
}"""
UPDATE = """async () => {
  const { map, store } = stowplan;
  const { applyEvent } = await import('./static/store.js');
  const slot = Array.from({ length: 500 }, (_, i) => i * 7 % store.nodes.length);
  const took = [];
  for (let round = 0; round < 9; round += 1) {
    const start = performance.now();
    const columns = store.nodes.resources.map(r => [r, slot.map(s => store.nodes.requested[r][s])]);
    const requested = Object.fromEntries(columns);
    applyEvent('nodes', JSON.parse(JSON.stringify({ slot, requested })));
    took.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
    took[round] += map.paints[map.paints.length - 1];
  }
  return took;
}"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    items = clusters.cluster(5000, 50_000)
    with Site(clusters.write(tmp_path_factory.mktemp("large") / "large.json", items)) as site:
        yield site


def test_large_cluster_stays_within_its_budgets(
    large: Site, visit: Callable[..., Visit], capsys: pytest.CaptureFixture[str]
) -> None:
    visitor = visit(at=large)
    page = visitor.page
    bytes_of: dict[str, int] = {}
    paths: dict[str, str] = {}
    session = visitor.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.on("Network.requestWillBeSent", lambda event: paths.setdefault(event["requestId"], event["request"]["url"]))
    session.on(
        "Network.loadingFinished",
        lambda event: bytes_of.setdefault(paths.get(event["requestId"], ""), event["encodedDataLength"]),
    )
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")
    page.evaluate("() => stowplan.loadPods()")
    page.wait_for_timeout(300)
    first = page.evaluate(FIRST)
    first_bytes = sum(bytes_of.get(url, 0) for url in first)
    data_bytes = sum(size for url, size in bytes_of.items() if "/api/" in url)
    paints = page.evaluate("() => performance.getEntriesByType('paint').map(p => Math.round(p.startTime))")
    for _ in range(PAINT_ROUNDS):
        painted, gaps = page.evaluate(PAN)
        if statistics.median(painted) <= MAX_PAINT_MILLISECONDS:
            break
    for _ in range(PAINT_ROUNDS):
        *_, cards = page.evaluate(frames.MOVE, [SMALLEST_CARD_PIXELS, "pan", 60])
        if statistics.median(cards) <= MAX_CARDS_PAINT_MILLISECONDS:
            break
    updates = page.evaluate(UPDATE)
    elements = page.evaluate("document.querySelectorAll('*').length")
    milliseconds = {"paint": painted, "paint of cards": cards, "frames": gaps, "update": updates}
    report = (
        f"first picture {first_bytes:,} bytes, data {data_bytes:,} bytes, first paint {paints[-1]} ms, {elements} "
        "elements; " + ", ".join(f"{name} {frames.spread(values)} ms" for name, values in milliseconds.items())
    )
    with capsys.disabled():
        sys.stdout.write(f"\n5,000 nodes (median, 95th percentile): {report}\n")
    names = visitor.state("stowplan.store.nodes.names")
    assert sum(1 for name in names if name) == 5000  # A slot may be free: explanations try further nodes.
    assert 0 < first_bytes <= MAX_FIRST_PICTURE_BYTES, {url: bytes_of.get(url) for url in first}
    assert data_bytes <= MAX_INITIAL_DATA_BYTES
    assert statistics.median(painted) <= MAX_PAINT_MILLISECONDS
    assert statistics.median(cards) <= MAX_CARDS_PAINT_MILLISECONDS
    assert statistics.median(updates) <= MAX_UPDATE_MILLISECONDS
    assert elements <= MAX_ELEMENTS
