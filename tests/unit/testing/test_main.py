"""`python -m stowplan.testing`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.testing.__main__ import main


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    return tmp_path


@pytest.mark.parametrize(("arguments", "status"), [(["build"], 1), (["build", "--if-possible"], 0)])
def test_without_go_it_says_what_to_do(bare_machine: Path, arguments: list[str], status: int) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status
    assert result.stderr.startswith("control plane: there is no `go` on PATH")
    assert result.stdout == ""


def test_says_where_they_are(bare_machine: Path) -> None:
    etcd = bare_machine / "etcd"
    etcd.touch(0o755)
    lines = CliRunner().invoke(main, ["where"]).stdout.splitlines()
    assert lines[:2] == [f"etcd: {etcd}", "kube-apiserver: missing"]
    result = CliRunner().invoke(main, ["build", "etcd"])
    assert (result.exit_code, result.stdout) == (0, f"etcd: {etcd}\n")
    assert CliRunner().invoke(main, ["build", "--if-possible", "etcd"]).output == ""


def test_refuses_what_it_cannot_build() -> None:
    result = CliRunner().invoke(main, ["build", "kubelet"])
    assert result.exit_code == 2
    assert "'kubelet' is not one of 'etcd'" in result.stderr
