"""Frames while panning and zooming with 5,000 nodes and 50,000 pods: `make frames`.

The display's rate bounds the interval of frames (16.7 ms at 60 Hz), so it does not show what a frame costs. Chromium
runs a second time without that bound: the interval is then the whole work of a frame, script, raster and compositing in
software. `script` is the time within the paint function alone.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright
from tests.web.browser import clusters
from tests.web.browser.chromium import find_chromium, launch_arguments
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

UNBOUNDED = ("--disable-frame-rate-limit", "--disable-gpu-vsync")
CELL_PIXELS = (0, 12, 40, 60, 110, 200)
"""Sizes of cells, one or two for each level of detail; 0 shows the whole map."""
SIZE = (1600, 940)
FRAMES = 120
MOVE = """async ([size, kind, frames]) => {
  const { map } = stowplan;
  const { fitMap, panBy, showCell, zoomAt } = await import('./static/map.js');
  fitMap();
  if (size) showCell(map.layout.blocks[0].slots[map.layout.blocks[0].slots.length >> 1], size);
  for (let i = 0; i < 5; i += 1) await new Promise(requestAnimationFrame);
  map.paints.length = 0;
  const gaps = [];
  let last = performance.now();
  for (let i = 0; i < frames; i += 1) {
    const back = i >= frames / 2;
    if (kind === 'pan') panBy(back ? -7 : 7, back ? -5 : 5);
    else zoomAt(400, 400, back ? 1 / 1.005 : 1.005);
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return [map.size, gaps, [...map.paints]];
}"""


class Frames(NamedTuple):
    """Milliseconds of each frame of one movement."""

    size: float
    kind: str
    intervals: list[float]
    script: list[float]


def measure(page: Page) -> Iterator[Frames]:
    """Pans and zooms at each level of detail."""
    page.evaluate("() => stowplan.loadPods()")
    for size in CELL_PIXELS:
        for kind in ("pan", "zoom"):
            reached, intervals, script = page.evaluate(MOVE, [size, kind, FRAMES])
            yield Frames(reached, kind, intervals, script)


def spread(values: list[float]) -> str:
    """Median and 95th percentile."""
    return f"{statistics.median(values):.1f} ({sorted(values)[int(len(values) * 0.95)]:.1f})"


def report() -> None:
    """Prints a line for each movement, at the display's rate and without a bound."""
    path = find_chromium()
    if path is None:
        raise RuntimeError("Chromium is missing; `python -m tests.web.browser` installs it")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = clusters.write(Path(folder) / "large.json", clusters.cluster(5000, 50_000))
        with Site(file) as site:
            measured = []
            for arguments in ((), UNBOUNDED):
                chromium = playwright.chromium.launch(executable_path=path, args=[*launch_arguments(), *arguments])
                visitor = Visit(chromium, site, width=SIZE[0], height=SIZE[1], theme="light")
                measured.append(list(measure(visitor.open())))
                chromium.close()
    sys.stdout.write("milliseconds, median (95th percentile)\ncell  move  at 60 Hz       whole work     script\n")
    for bounded, free in zip(*measured, strict=True):
        sys.stdout.write(
            f"{bounded.size:4.0f}  {bounded.kind:4}  {spread(bounded.intervals):13}  {spread(free.intervals):13}  "
            f"{spread(free.script)}\n"
        )
