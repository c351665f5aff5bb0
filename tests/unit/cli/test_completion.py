import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli.main import COMMANDS, cli
from stowplan.cli.shell_completion import SCRIPTS

LEADER_ELECTION = ("new-deadline", "source-lock", "source-name", "source-namespace", "try-period")


def complete(line: str, **variables: str) -> list[str]:
    """What is offered in place of the last word of a line, each with what sort it is."""
    environment = {
        "_STOWPLAN_COMPLETE": "fish_complete",
        "STOWPLAN_LINE": line,
        "STOWPLAN_WORD": line.rpartition(" ")[2],
        **variables,
    }
    script = "from stowplan.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return [",".join(offered.split("\t")[:2]) for offered in run.stdout.splitlines() if offered]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_for_each_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"{shell}_complete" in result.stdout
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=result.stdout, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "my.py").write_text("class Rack: pass\nclass Row: pass\n")
    asked = (
        ("sim", "sim"),
        ("simulate --output=w", "w"),
        ("simulate --output=", ""),
        ("simulate --plugin my.py:R", "R"),
        ("simulate --output=n", "n"),
    )
    script = "source <(stowplan completion bash)\n" + "\n".join(
        f"COMP_LINE='stowplan {line}' COMP_POINT=99; _stowplan_completion stowplan '{word}'; "
        'echo "${#COMPREPLY[@]} ${COMPREPLY[*]}"'
        for line, word in asked
    )
    run = subprocess.run(
        ["bash", "--norc", "-c", script], env={"PATH": path}, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == ["1 simulate", "1 wide", "6 table wide json yaml html junit", "2 Rack Row", "0 "]
    assert run.stderr == ""


def test_other_shells_are_refused() -> None:
    result = CliRunner().invoke(cli, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr


def test_candidates_come_with_their_descriptions() -> None:
    environment = {"_STOWPLAN_COMPLETE": "zsh_complete", "STOWPLAN_LINE": "stowplan config ch", "STOWPLAN_WORD": "ch"}
    script = "from stowplan.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    kind, value, about = run.stdout.rstrip("\n").split("\t")
    assert (kind, value) == ("plain", "check")
    assert about.startswith("Check whether each FILE")
    assert about.endswith("and print all errors.")


def test_commands_are_completed() -> None:
    assert complete("stowplan ") == [f"plain,{name}" for name in COMMANDS]
    assert complete("stowplan config c") == ["plain,check", "plain,convert"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stowplan simulate --from-", ["plain,--from-cluster"]),
        ("stowplan simulate -o w", ["plain,wide"]),
        ("stowplan simulate --output=w", ["plain,--output=wide"]),
        ("stowplan simulate -f ", ["file,"]),
        ("stowplan simulate --filename=a", ["file,a"]),
        ("stowplan evaluate -f ", ["file,"]),
        ("stowplan simulate --plugin none.py:", []),
        ("stowplan simulate --plugin pack", ["file,pack"]),
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
