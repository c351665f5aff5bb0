"""What mypy --strict says of a file that a user wrote."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[2]

MISTAKES = """\
from stowplan import CycleState, NodeInfo, Plugin, Pod, Status, reject, rejct


class Mistaken(Plugin):
    scope = "rack"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject(node.labels.get("reason"))

    def score(self, state: CycleState, pod: Pod, node: str) -> float:
        return pod.priorities
"""
READING = """\
from dataclasses import dataclass

from stowplan import CycleState, NodeInfo, Plugin, Pod, PodTemplate, Status, reject


class Reading(Plugin):
    scope = "node"
    reads_annotations = ("example.com/pool",)

    @dataclass
    class Args:
        key: str = "example.com/pool"

    args: Args

    def concerns(self, template: PodTemplate) -> bool:
        return self.args.key in template.annotations

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        texts: list[str] = [pod.annotations[self.args.key], pod.metadata.name, pod.status.phase, pod.spec.node_name]
        texts += [node.annotations["a"], node.metadata.uid, *node.spec.taints[0].key, *pod.spec.node_selector]
        texts += [condition.type for condition in node.status.conditions]
        numbers: list[int] = [pod.template.requests["cpu"], node.allocatable["cpu"], len(node.pods)]
        return reject(*texts) if sum(numbers) else None


class Changing(Plugin):
    reads_annotations = "example.com/pool"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        pod.annotations["a"] = "b"
        node.pods.clear()
        pod.template.requests["cpu"] = 1
        pod.status.phase = "Running"
        node.metadata.labls
        return pod.metadata.annotations["a"]
"""
READING_COMPLAINTS = {
    28: "assignment",  # a text instead of a tuple
    31: "index",  # changes of what is read-only
    32: "attr-defined",
    33: "index",
    34: "misc",
    35: "attr-defined",  # a field that does not exist
    36: "return-value",
}
COMPLAINTS = {
    1: "attr-defined",  # a name that does not exist
    5: "assignment",  # a scope that does not exist
    8: "arg-type",  # a reason that may be None
    10: "override",  # a parameter of another type
    11: "attr-defined",  # an attribute that does not exist
}


def code_in_readme() -> tuple[str, str]:
    """(the plugin, the scheduler that has it built in)."""
    plugin, scheduler = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return plugin, scheduler


@pytest.mark.slow
def test_the_plugin_in_the_readme_is_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    plugin, scheduler = code_in_readme()
    (tmp_path / "own_scheduler.py").write_text(scheduler)
    (tmp_path / "rack_care.py").write_text(plugin)
    (tmp_path / "mistaken.py").write_text(MISTAKES)
    (tmp_path / "reading.py").write_text(READING)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    command += ["--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'authors'}", "rack_care.py", "mistaken.py"]
    command += ["own_scheduler.py", "reading.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in result.stdout.splitlines() if ": error: " in line]
    found = {tuple(line.split(":")[:2]): line.rpartition("[")[2].rstrip("]") for line in errors}
    expected = {("mistaken.py", str(line)): code for line, code in COMPLAINTS.items()}
    expected |= {("reading.py", str(line)): code for line, code in READING_COMPLAINTS.items()}
    assert found == expected, result.stdout
