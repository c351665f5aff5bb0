"""`kubectl stow`: arguments as kubectl passes them, and the installed program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stowplan.cli.kubectl_stow import SUBCOMMANDS, arguments
from stowplan.cli.main import COMMANDS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("explain web-0", "explain --from-cluster web-0"),
        ("explain web-0 -n shop --context prod", "explain --from-cluster web-0 -n shop --context prod"),
        ("-n shop explain web-0", "explain --from-cluster web-0 -n shop"),
        ("--context=prod why-not web-0 ant", "why-not --from-cluster web-0 ant --context=prod"),
        ("explain web-0 --from snapshot.json", "explain web-0 --from snapshot.json"),
        ("explain web-0 --base=cluster.yaml", "explain web-0 --base=cluster.yaml"),
        ("what-if --from-cluster --drain ant", "what-if --from-cluster --drain ant"),
        ("simulate -f web.yaml", "simulate --from-cluster -f web.yaml"),
        ("snapshot cluster.json.gz", "snapshot --from-cluster cluster.json.gz"),
        ("explain --help", "explain --help"),
        ("version", "version"),
    ],
)
def test_arguments(given: str, expected: str) -> None:
    assert arguments(given.split()) == expected.split()


@pytest.mark.parametrize("given", ["", "--help", "-h", "help"])
def test_usage(given: str) -> None:
    assert arguments(given.split()) is None


def program() -> str:
    found = shutil.which("kubectl-stow", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.fail("kubectl-stow is not installed: make setup")
    return found


def test_the_program_is_found_by_kubectl(tmp_path: Path) -> None:
    """kubectl looks for an executable `kubectl-stow` on the PATH; it passes arguments and exit status through."""
    done = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True)
    assert "kubectl stow COMMAND" in done.stdout
    kubeconfig = tmp_path / "none.yaml"
    done = subprocess.run(
        [program(), "explain", "web-0", "--kubeconfig", str(kubeconfig)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("stowplan: ")
    assert str(kubeconfig) in done.stderr


def test_commands_exist() -> None:
    assert set(SUBCOMMANDS) <= set(COMMANDS)
