"""The commands that README.md shows, run as they stand there, must print what it says they print."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[3] / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
FILES = {"python": "rack_care.py", "yaml": "scheduler.yaml"}


@pytest.mark.slow
def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    printed = ""
    compared = 0
    for language, text in BLOCKS:
        if language in FILES:
            (tmp_path / FILES[language]).write_text(text)
        elif language == "sh":
            command = ["sh", "-ec", text]
            run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert (run.returncode, run.stderr) == (0, "")
            printed = run.stdout
        elif language in ("json", "text"):
            assert printed == text
            compared += 1
    assert compared == 3
    checked, verdict = printed.splitlines()
    assert checked == "scheduler.yaml: valid (KubeSchedulerConfiguration v1, 1 profile)"
    assert json.loads(verdict)["feasible"] == ["dog"]
