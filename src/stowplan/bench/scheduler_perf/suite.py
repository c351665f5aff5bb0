"""The suite's files: test cases, their workloads, and the reasons why a workload cannot run here.

Upstream: test/integration/scheduler_perf/scheduler_perf.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stowplan.config.feature_gates import parse_gates
from stowplan.errors import ConfigError, InputError

CONFIG_FILE = "performance-config.yaml"

Operation = dict[str, Any]
"""An operation with its parameters filled in; `opcode` is its kind."""

START_SECONDS = 15.0
"""Time in which a control plane and a scheduler start and end."""
REQUESTS_PER_SECOND = 300.0
"""Objects created and pods bound on two cores, by kube-scheduler, roughly."""

_DURATION = re.compile(r"([0-9.]+)(ms|s|m|h)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DRA = "DynamicResourceAllocation"
_DEFAULT_GATES = parse_gates(())


class PerfWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of a test case."""

    name: str
    """Test case and workload: `SchedulingBasic/500Nodes`."""
    folder: Path
    """Paths of templates are relative to it."""
    labels: tuple[str, ...] = ()
    gates: dict[str, bool] = {}
    threshold: float = 0.0
    """The suite's minimum of the throughput; 0 for none."""
    operations: tuple[Operation, ...]
    unused_params: tuple[str, ...] = ()
    pod_template: str | None = None
    scheduler_config: str | None = None

    @property
    def has_claims(self) -> bool:
        """Whether pods may have ResourceClaims, which a controller creates from templates and deletes."""
        return self.gates.get(_DRA, False)

    @property
    def obstacle(self) -> str:
        """Why the workload cannot run on a control plane of processes; empty if it can."""
        try:
            parse_gates(f"{name}={str(value).lower()}" for name, value in self.gates.items())
        except ConfigError as error:
            return str(error)
        if self.unused_params:
            return f"{', '.join(self.unused_params)}: read by a hook inside the suite's process"
        for operation in self.operations:
            if operation["opcode"] == "allocResourceClaims" and self._claims(operation["namespace"]):
                return "allocResourceClaims runs the allocator inside the suite's process"
        if not any(operation["opcode"] == "createPods" for operation in self.operations):
            return "measures an informer inside the suite's process, and no pods"
        return ""

    @property
    def changed_gates(self) -> dict[str, bool]:
        """Gates that differ from their defaults."""
        return {name: value for name, value in self.gates.items() if _DEFAULT_GATES[name] != value}

    @property
    def expected_seconds(self) -> float:
        """A rough estimate of the time of one turn, from the number of objects and the durations of operations."""
        objects: int = sum(operation.get("count", 0) for operation in self.operations)
        durations = sum(duration_seconds(operation.get("duration", "")) for operation in self.operations)
        return START_SECONDS + objects / REQUESTS_PER_SECOND + durations

    def path(self, relative: str) -> Path:
        return self.folder / relative

    def _claims(self, namespace: str) -> int:
        creating = (o for o in self.operations if o["opcode"] == "createAny" and o.get("namespace") == namespace)
        return sum(o.get("count", 1) for o in creating if "resourceclaim" in o["templatePath"])


def load_suite(folder: Path) -> list[PerfWorkload]:
    """All workloads below a folder, in the order of the files. Raises InputError."""
    files = sorted(folder.rglob(CONFIG_FILE))
    if not files:
        raise InputError(f"{folder}: no {CONFIG_FILE} in it or below it")
    return [workload for file in files for workload in _read(file, folder)]


def select(workloads: Sequence[PerfWorkload], names: Sequence[str], labels: Sequence[str]) -> list[PerfWorkload]:
    """Workloads with one of the names and every label. A name is a test case, or a test case and a workload."""
    for name in names:
        if not any(_named(workload, name) for workload in workloads):
            raise InputError(f"no workload {name!r} in the suite")
    return [
        workload
        for workload in workloads
        if (not names or any(_named(workload, name) for name in names)) and set(labels) <= set(workload.labels)
    ]


def duration_seconds(duration: str) -> float:
    """The value of a Go duration such as `1m30s`."""
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION.findall(duration))


def _named(workload: PerfWorkload, name: str) -> bool:
    return workload.name == name or workload.name.startswith(f"{name}/")


def _read(file: Path, suite: Path) -> Iterator[PerfWorkload]:
    try:
        cases = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{file}: {error}") from None
    topics = file.parent.relative_to(suite).parts or (file.parent.name,)
    for case in cases:
        for workload in case["workloads"]:
            yield _workload(case, workload, file.parent, topics)


def _workload(
    case: Mapping[str, Any], workload: Mapping[str, Any], folder: Path, topics: tuple[str, ...]
) -> PerfWorkload:
    params, used = workload.get("params", {}), set[str]()
    operations = [_filled(operation, params, used) for operation in case["workloadTemplate"]]
    return PerfWorkload(
        name=f"{case['name']}/{workload['name']}",
        folder=folder,
        labels=(*case.get("labels", ()), *workload.get("labels", ())),
        gates=case.get("featureGates", {}) | workload.get("featureGates", {}),
        threshold=_threshold(workload.get("threshold", 0), topics),
        operations=tuple(unrolled for operation in operations for unrolled in _unroll(operation)),
        unused_params=tuple(name for name in params if name not in used),
        pod_template=case.get("defaultPodTemplatePath"),
        scheduler_config=case.get("schedulerConfigPath"),
    )


def _threshold(value: Any, topics: tuple[str, ...]) -> float:
    """One number, or numbers by topic; topics have the names of the suite's folders."""
    if isinstance(value, dict):
        return float(next((value[topic] for topic in topics if topic in value), 0))
    return float(value)


def _filled(operation: Operation, params: Mapping[str, Any], used: set[str]) -> Operation:
    """The operation with `countParam: $nodes` replaced by `count`, and the like; `used` receives the names."""
    filled: Operation = {}
    for key, value in operation.items():
        if isinstance(value, dict):
            filled[key] = _filled(value, params, used) if key == "createPodsOp" else value
        elif key.endswith("Param"):
            name = value.removeprefix("$")
            used.add(name)
            filled[key.removesuffix("Param")] = params[name]
        else:
            filled.setdefault(key, value)
    return filled


def _unroll(operation: Operation) -> Iterator[Operation]:
    """createPodSets becomes one createPods for each namespace."""
    if operation["opcode"] != "createPodSets":
        yield operation
        return
    for number in range(operation["count"]):
        yield operation["createPodsOp"] | {"namespace": f"{operation['namespacePrefix']}-{number}"}
