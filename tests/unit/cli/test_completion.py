import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli.completion import SHELLS
from stowplan.cli.main import COMMANDS, cli

LEADER_ELECTION = ("new-deadline", "source-lock", "source-name", "source-namespace", "try-period")


def complete(line: str, **variables: str) -> list[str]:
    """What is offered for a line whose last word is not finished, each with what sort it is."""
    words = line.split(" ")
    environment = {
        "_STOWPLAN_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        **variables,
    }
    script = "from stowplan.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_STOWPLAN_COMPLETE={shell}_complete" in result.stdout
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=result.stdout, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes() -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = (
        "source <(stowplan completion bash); COMP_WORDS=(stowplan sim) COMP_CWORD=1; "
        '_stowplan_completion stowplan; echo "${COMPREPLY[@]}"'
    )
    run = subprocess.run(
        ["bash", "--norc", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("simulate\n", "")


def test_other_shells_are_refused() -> None:
    result = CliRunner().invoke(cli, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr


def test_commands_are_completed() -> None:
    assert complete("stowplan ") == [f"plain,{name}" for name in COMMANDS]
    assert complete("stowplan config c") == ["plain,check", "plain,convert"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stowplan simulate --from", ["plain,--from-cluster"]),
        ("stowplan simulate -o w", ["plain,wide"]),
        ("stowplan simulate -f ", ["file,"]),
        ("stowplan evaluate --plugin ./ra", ["file,./ra"]),
        ("stowplan config check sch", ["file,sch"]),
        ("stowplan new-plugin x --directory ", ["dir,"]),
        ("stowplan scheduler --leader-elect-re", ["plain,--leader-elect-re" + end for end in LEADER_ELECTION]),
        ("stowplan scheduler --config ", ["file,"]),
    ],
)
def test_options_and_files_are_completed(line: str, offered: list[str]) -> None:
    assert complete(line) == offered


def test_contexts_are_those_of_the_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("contexts: [{name: prod, context: {}}, {name: pre, context: {}}, {name: dev, context: {}}]")
    assert complete("stowplan simulate --context p", KUBECONFIG=str(file)) == ["plain,prod", "plain,pre"]
    named = f"stowplan simulate --kubeconfig {file} --context d"
    assert complete(named, HOME=str(tmp_path)) == ["plain,dev"]
    file.write_text("{")
    assert complete("stowplan simulate --context p", KUBECONFIG=str(file)) == []
