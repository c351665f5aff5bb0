"""What `stowplan simulate` prints of a run of manifests: tables, JSON and YAML."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stowplan.cli.streams import print_lines

if TYPE_CHECKING:
    from stowplan.cli.state import State
    from stowplan.simulator.report.recorder import Examine
    from stowplan.simulator.report.report import SimulationReport
    from stowplan.simulator.report.tables import TableStyle


def report_of_state(state: State, by: str) -> SimulationReport:
    from stowplan.simulator.report import report_of
    from stowplan.simulator.report.changed_since_snapshot import states_before

    given = state.given
    before = states_before(state.objects, given.preexisting)
    return report_of(state.simulation, state.recorder, given.unknown, before, given.assumptions, by)


def examined_for(output: str, all_scores: bool) -> Examine | None:
    """How much of each decision is recorded for an output format."""
    from stowplan.simulator.report.detailed_decisions import recording, top_scores

    return {"table": None, "html": None, "wide": top_scores}.get(output, recording(all_nodes=all_scores))


def print_tables(report: SimulationReport, style: TableStyle) -> None:
    from rich.console import Console

    from stowplan.simulator.report.tables import tables

    console = Console()
    style = style._replace(width=console.width if console.is_terminal else None)
    print_lines(console, tables(report, style))


def print_serialized(report: SimulationReport, output: str) -> None:
    from stowplan.simulator.report.serialized import to_json, to_yaml

    for piece in (to_json if output == "json" else to_yaml)(report):
        sys.stdout.buffer.write(piece)
