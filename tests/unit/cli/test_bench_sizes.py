import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stowplan.bench.sizes.runner import ClusterSize, SizeReport, scheduler_command
from stowplan.cli import bench_sizes as module
from stowplan.cli.bench import bench


def test_table_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[Any] = []

    def measure(size: ClusterSize, progress: Any) -> SizeReport:
        passed.append(size)
        return SizeReport(
            scenario="sizes",
            size=size,
            start_s=30.0,
            scaled_start_s=15.0,
            start_cpu_s=20.0,
            binds_per_second=900.0,
            peak_rss_mib=2000.0,
            rss_mib=1900.0,
            calibration_s=2.0,
        )

    monkeypatch.setattr(module, "measure_sizes", measure)
    result = CliRunner().invoke(bench, ["sizes", "--nodes", "7"])
    assert result.exit_code == 0, result.output
    assert passed == [ClusterSize(nodes=7)]
    assert result.stdout.splitlines()[1].split() == ["7", "500,000", "30.0", "15.0", "20.0", "900", "2,000", "1,900"]
    printed = json.loads(CliRunner().invoke(bench, ["sizes", "--json"]).stdout)
    assert (printed["nodes"], printed["scaled_start_s"]) == (50_000, 15.0)


def test_the_scheduler_reads_from_the_stand_in(tmp_path: Path) -> None:
    command = scheduler_command(tmp_path, "http://127.0.0.1:1")
    assert "--secure-port=0" in command
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    kubeconfig = yaml.safe_load(Path(config["clientConnection"]["kubeconfig"]).read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:1"
