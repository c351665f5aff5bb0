"""The workflow runs what everybody runs: targets of the Makefile."""

import re
from pathlib import Path

import yaml

PROJECT = Path(__file__).parents[2]


def test_every_step_is_a_make_target_that_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    jobs = yaml.safe_load((PROJECT / ".github/workflows/ci.yaml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = [command.split()[1] for command in commands if command.startswith("make ")]
    assert {"check", "test", "control-plane", "dist", "image", "audit"} <= set(made) <= targets
    assert all(command.startswith(("make ", "docker run ")) for command in commands)


def test_it_tests_every_python_that_is_promised() -> None:
    jobs = yaml.safe_load((PROJECT / ".github/workflows/ci.yaml").read_text())["jobs"]
    classifiers = re.findall(r"Python :: (3\.\d+)", (PROJECT / "pyproject.toml").read_text())
    assert jobs["test"]["strategy"]["matrix"]["python"] == classifiers
    table = (PROJECT / "docs/reference/compatibility.md").read_text()
    assert f"CPython {', '.join(classifiers)}" in table
