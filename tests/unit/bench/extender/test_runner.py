"""Runs of the benchmark, with our server on both sides, since Go is not everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.bench.extender import NAMES, ExtenderRunner, extenders, runner
from stowplan.bench.extender.extenders import BenchExtender, GoExtenderError, build_go_extender, ours
from stowplan.bench.extender.workload import LEAK, WORKLOADS, ExtenderWorkload
from stowplan.cli.bench import bench


@pytest.fixture
def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes, and a rival that is our own server."""

    @contextmanager
    def twin(program: Path, *, remember: bool) -> Iterator[BenchExtender]:
        with ours() as extender:
            yield extender

    monkeypatch.setattr(runner, "go_extender", twin)
    monkeypatch.setattr(runner, "LEAK_NODES", 20)
    monkeypatch.setattr(runner, "calibrate", lambda: 1.0)
    monkeypatch.setattr(runner, "build_go_extender", lambda folder: folder / "go_extender")
    small = ExtenderWorkload(
        name="filter-names-5000", nodes=30, requests=4, names_only=True, max_p50_ratio=1000, max_p99_ratio=0.0
    )
    monkeypatch.setitem(WORKLOADS, "filter-names-5000", small)


@pytest.mark.slow
@pytest.mark.usefixtures("in_small")
def test_both_are_asked_the_same_and_agree() -> None:
    running = ExtenderRunner(requests=4, calibrate=lambda: 1.0, build=lambda folder: folder / "go_extender")
    compared, leak = running.run(["filter-names-5000", LEAK])
    assert (compared.scenario, compared.nodes, compared.pods) == ("filter-names-5000", 30, 4)
    assert (compared.compared, list(compared.disagreements)) == (4, [])
    assert [verdict.met for verdict in compared.comparisons] == [True, False]
    assert compared.peers["go"].p50_us > 0
    assert (leak.scenario, leak.peers) == (LEAK, {})
    assert len(leak.comparisons) == 1


def test_the_command_knows_its_workloads() -> None:
    result = CliRunner().invoke(bench, ["extender", "--help"])
    assert result.exit_code == 0, result.output
    assert all(name in result.output.replace("\n", "").replace(" ", "") for name in NAMES)


def test_a_rival_that_cannot_be_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extenders, "SOURCE", tmp_path / "nowhere")
    with pytest.raises(GoExtenderError, match="checkout"):
        build_go_extender(tmp_path)


def test_the_rival_is_there_to_be_built() -> None:
    assert (extenders.SOURCE / "main.go").is_file()
    assert "k8s.io/api v0.36." in (extenders.SOURCE / "go.mod").read_text()


def test_bars_are_shares_of_the_rivals_times() -> None:
    assert {name: (w.max_p50_ratio, w.max_p99_ratio) for name, w in WORKLOADS.items()} == {
        "filter-full-1000": (0.25, 0.25),
        "filter-full-5000": (0.25, 0.25),
        "filter-names-5000": (1.0, 1.0),
        "prioritize-names-5000": (1.0, 1.0),
    }
