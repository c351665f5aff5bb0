"""The picture of the README: what `stowplan demo` shows on a terminal at some moment, as SVG."""

import io
import time

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from tests.docs.page import ROOT

from stowplan.cli.watch import keys_line
from stowplan.simulator.demo import ScenarioRun, load_scenario
from stowplan.simulator.watch import Playback, live_view

FILE = ROOT / "docs" / "images" / "demo.svg"
MOMENT = 14.5
_SIZE = (104, 30)
_THEME = TerminalTheme(
    (16, 20, 28),
    (205, 211, 222),
    [
        (40, 44, 52),
        (224, 108, 117),
        (125, 190, 120),
        (229, 192, 100),
        (90, 150, 235),
        (190, 130, 220),
        (86, 182, 194),
        (205, 211, 222),
    ],
)
_FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="stowplan demo">
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; \
line-height: {line_height}px; }}
.{unique_id}-title {{ font: 15px system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class _Hurry:
    """A clock on which neither sleep nor what other programs do takes time."""

    def __init__(self) -> None:
        self._slept = 0.0

    def now(self) -> float:
        return time.process_time() + self._slept

    def sleep(self, seconds: float) -> None:
        self._slept += seconds


def draw() -> None:
    """Let the demo run to the moment, and write down what it shows."""
    clock = _Hurry()
    drive = Playback(ScenarioRun(load_scenario(), nodes=300, seed=0), clock.now, clock.sleep)
    summary = next(summary for summary in drive.frames(0.125) if summary.elapsed >= MOMENT)
    console = Console(record=True, width=_SIZE[0], file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(live_view(summary, *_SIZE, keys=keys_line(drive, ascii_only=False)))
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(console.export_svg(title="stowplan demo", theme=_THEME, code_format=_FORMAT, unique_id="demo"))
