from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.bench.cluster.test_overload import figures

from stowplan.bench.cluster.overload import OverloadReport
from stowplan.cli import bench_overload as module
from stowplan.cli.bench import bench


def test_table_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[Any] = []

    def measure(size: Any, schedulers: Any, progress: Any) -> OverloadReport:
        passed.extend((size, schedulers))
        return OverloadReport(
            scenario="overload", size=size, figures={"kube-scheduler": figures(1.0), "stowplan": figures(0.05)}
        )

    monkeypatch.setattr(module, "measure_overload", measure)
    result = CliRunner().invoke(bench, ["overload", "--nodes", "7", "--scheduler", "stowplan"])
    assert result.exit_code == 0, result.output
    assert passed[0].nodes == 7
    assert passed[1] == ("stowplan",)
    assert "of kube-scheduler's: cpu_share 0.050" in result.stdout
    assert '"cpu_share":0.05' in CliRunner().invoke(bench, ["overload", "--json"]).stdout
