import io
import re

import pytest
from rich.console import Console, RenderableType

from stowplan.simulator.clock import EPOCH
from stowplan.simulator.demo.scenario import load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.report import report_of
from stowplan.simulator.watch.cluster_summary import ClusterSummary
from stowplan.simulator.watch.view import final_lines, live_view, plain_line


@pytest.fixture(scope="module")
def stage() -> ScenarioRun:
    stage = ScenarioRun(load_scenario(), 90, 0)
    while stage.simulation.step() or stage.simulation.advance(EPOCH + 26.0):
        while stage.simulation.api_server.events:
            stage.events.take(stage.elapsed, stage.simulation.api_server.events.popleft())
    return stage


def drawn(view: RenderableType, width: int, *, colour: bool = False) -> list[str]:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="256" if colour else None,
        legacy_windows=False,
    )
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (200, 60), (40, 24)])
def test_it_fits_the_terminal(stage: ScenarioRun, width: int, height: int) -> None:
    lines = drawn(live_view(ClusterSummary.of(stage, 1234.0), width, height), width)
    assert max(map(len, lines)) <= width
    assert len(lines) < height or width < 80


def test_all_is_said_without_colour(stage: ScenarioRun) -> None:
    summary = ClusterSummary.of(stage, 1234.0)
    lines = drawn(live_view(summary, 80, 30), 80)
    text = "\n".join(lines)
    assert lines[0].startswith(f"stowplan demo  26.0 s  {summary.pods:,} pods on 90 nodes")
    assert lines[0].rstrip().endswith("1,234 decisions/s")
    cells = sum(line.count(mark) for line in lines[1:11] for mark in "·▁▂▃▄▅▆▇█")
    assert cells == 90
    assert f"GPUs {summary.gpus[0]}/24" in text
    for zone in summary.zones:
        assert f"{zone.name}  cpu {zone.cpu:.0%}" in text
    for name, count in summary.queues.items():
        assert f"{name} {count}" in text
    for reason, count in summary.reasons[:3]:
        assert f"{count}  {reason}" in text
    for entry in summary.entries[-3:]:
        assert entry.text[:40] in text


def test_terminals_without_such_characters_get_digits(stage: ScenarioRun) -> None:
    text = "\n".join(drawn(live_view(ClusterSummary.of(stage, 1.0), 80, 30, ascii_only=True), 80))
    assert text.isascii()
    assert "7777" in text


def test_colour_adds_nothing_but_colour(stage: ScenarioRun) -> None:
    view = live_view(ClusterSummary.of(stage, 1.0), 80, 30)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in drawn(view, 80, colour=True)]
    assert plain == drawn(view, 80)


def test_many_nodes_share_cells() -> None:
    stage = ScenarioRun(load_scenario(), 2000, 0)
    stage.simulation.settle()
    text = "\n".join(drawn(live_view(ClusterSummary.of(stage, 1.0), 80, 30), 80))
    assert "3 a cell)" in text
    assert text.count("·") <= 2000 / 3 + 20


def test_the_picture_does_not_jump(stage: ScenarioRun) -> None:
    empty = ScenarioRun(load_scenario(), 90, 0)
    empty.simulation.settle()
    heights = {len(drawn(live_view(ClusterSummary.of(each, 1.0), 80, 30), 80)) for each in (stage, empty)}
    assert len(heights) == 1


def test_nothing_to_show_yet() -> None:
    assert drawn(live_view(ClusterSummary.of(ScenarioRun(load_scenario(), 90, 0), 1.0), 80, 24), 80)


def test_a_line_for_logs(stage: ScenarioRun) -> None:
    summary = ClusterSummary.of(stage, 1.0)
    line = plain_line(summary)
    assert line.startswith(f" 26.0 s  {summary.pods:,} pods on 90 nodes; active ")
    assert line.endswith(f"north-c {summary.zones[2].cpu:.0%}")


@pytest.mark.parametrize("width", [None, 80])
def test_the_summary(stage: ScenarioRun, width: int | None) -> None:
    summary = ClusterSummary.of(stage, 1234.0)
    lines = [line.plain for line in final_lines(report_of(stage.simulation, stage.recorder, {}), summary, width)]
    assert any(f"{summary.decisions:,} decisions, 1,234 a second of work" in line for line in lines)
    assert any(line.endswith("Insufficient cpu") for line in lines)
    assert width is None or max(map(len, lines)) < width
