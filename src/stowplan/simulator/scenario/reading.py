"""Reads a Scenario document and checks it as a whole: all errors at once, each with file and path."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from stowplan.config.errors import FieldError, InvalidConfigurationError, Problems
from stowplan.config.strict_decoding import decode, type_name
from stowplan.config.text import parse
from stowplan.errors import InputError
from stowplan.simulator.scenario.autoscaling import CompiledAutoscaler, compile_autoscaler
from stowplan.simulator.scenario.churn import CompiledChurn, compile_churn
from stowplan.simulator.scenario.descheduling import CompiledDescheduler, compile_descheduler
from stowplan.simulator.scenario.failures import CompiledFailure, compile_failure
from stowplan.simulator.scenario.fields import time_at
from stowplan.simulator.scenario.object_names import check_names
from stowplan.simulator.scenario.pools import CompiledPool, compile_pool
from stowplan.simulator.scenario.quantities import MAX_NUMBER
from stowplan.simulator.scenario.schema import API_VERSION, KIND, ScenarioSpec
from stowplan.simulator.scenario.trace_driver import compile_trace
from stowplan.simulator.scenario.workloads import CompiledWorkload, compile_workload
from stowplan.traces import TraceLoader

Json = dict[str, Any]
ReadFile = Callable[[str], bytes]
Spec = TypeVar("Spec")
_TIES = ["noise", "name"]
_OBJECTIVES = ["wait", "jct"]
_NOT_PART_OF_RUN = ("expect", "record")


class Horizon(NamedTuple):
    """The end of the run: the first of these that comes."""

    time: float = math.inf
    drained: bool = False
    after_arrivals: float | None = None
    stuck: bool = False


class LoadedScenario(NamedTuple):
    """A scenario that was checked."""

    spec: ScenarioSpec
    source: str
    folder: Path
    document: Json
    start: float
    horizon: Horizon
    pools: tuple[CompiledPool, ...]
    workloads: tuple[CompiledWorkload, ...]
    traces: tuple[TraceLoader | None, ...]
    """By workload."""
    node_trace: TraceLoader | None
    churn: tuple[CompiledChurn, ...]
    failures: tuple[CompiledFailure, ...]
    """Of nodes."""
    autoscaler: CompiledAutoscaler | None
    descheduler: CompiledDescheduler | None

    @property
    def name(self) -> str:
        return self.spec.metadata.name or Path(self.source).stem

    def digest(self, seed: int) -> str:
        """A name of the run: everything that determines it, except files that the scenario names."""
        kept = {key: value for key, value in self.document.items() if key not in _NOT_PART_OF_RUN}
        text = msgspec.json.encode([kept, seed], order="sorted")
        return blake2b(text, digest_size=8).hexdigest()


def read_file(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error


def load_scenario(source: str, text: bytes | None = None, read: ReadFile = read_file) -> LoadedScenario:
    """Read a file, or its text. Paths in it are relative to its folder. Raises ConfigError with one line per fault."""
    value, repeated = parse(read(source) if text is None else text, source, "scenario")
    return compile_scenario(value, source, Path(source).parent, read, repeated)


def compile_scenario(
    value: object, source: str, folder: Path, read: ReadFile = read_file, faults: Iterable[FieldError] = ()
) -> LoadedScenario:
    """Check a document that was parsed."""
    problems = Problems(faults)
    document, spec = decode_document(value, source, ScenarioSpec, KIND, problems)
    compiled = LoadedScenario(
        spec,
        source,
        folder,
        document,
        _start(spec, problems),
        _horizon(spec, problems),
        tuple(
            compile_pool(pool, f"$.nodes.pools[{index}]", problems, folder)
            for index, pool in enumerate(spec.nodes.pools)
        ),
        tuple(
            compile_workload(workload, f"$.workloads[{index}]", problems, folder, read)
            for index, workload in enumerate(spec.workloads)
        ),
        tuple(
            compile_trace(workload.trace, f"$.workloads[{index}].trace", problems, folder) if workload.trace else None
            for index, workload in enumerate(spec.workloads)
        ),
        compile_trace(spec.nodes.trace, "$.nodes.trace", problems, folder) if spec.nodes.trace else None,
        tuple(compile_churn(churn, f"$.churn[{index}]", problems) for index, churn in enumerate(spec.churn)),
        _failures(spec, problems, folder),
        None,
        compile_descheduler(spec.descheduler, problems),
    )
    compiled = compiled._replace(
        autoscaler=compile_autoscaler(spec.autoscaler, problems, {pool.name: pool for pool in compiled.pools})
    )
    _check_whole(compiled, problems)
    if problems.errors:
        raise InvalidConfigurationError(source, problems.errors)
    return compiled


def decode_document(value: object, source: str, spec: type[Spec], kind: str, problems: Problems) -> tuple[Json, Spec]:
    """The document and its fields; apiVersion and kind are checked."""
    if not isinstance(value, dict):
        raise InvalidConfigurationError(source, [FieldError("", f"expected an object, got {type_name(value)}")])
    numbers = Problems(())
    _check_numbers(value, "$", numbers)
    if numbers.errors:
        raise InvalidConfigurationError(source, [*problems.errors, *numbers.errors])
    for field, found, expected in (
        ("apiVersion", value.get("apiVersion", ""), API_VERSION),
        ("kind", value.get("kind", ""), kind),
    ):
        if found != expected:
            problems.unsupported(f"$.{field}", str(found), [expected])
    return value, decode(value, spec, "$", problems)


def _check_numbers(value: object, path: str, problems: Problems) -> None:
    """Adds numbers that are not finite or too large, which YAML and JSON can have in every field."""
    if isinstance(value, dict):
        for key, each in value.items():
            _check_numbers(each, f"{path}.{key}", problems)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _check_numbers(each, f"{path}[{index}]", problems)
    elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
        problems.add(path, f"expected a number of at most {MAX_NUMBER:g}")


def _failures(spec: ScenarioSpec, problems: Problems, folder: Path) -> tuple[CompiledFailure, ...]:
    pools = {pool.name for pool in spec.nodes.pools}
    workloads = {workload.name for workload in spec.workloads}
    found = [
        compile_failure(failure, f"$.failures[{index}]", problems, folder, pools, workloads)
        for index, failure in enumerate(spec.failures)
    ]
    return tuple(each for each in found if each is not None)


def _start(spec: ScenarioSpec, problems: Problems) -> float:
    try:
        start = datetime.fromisoformat(spec.start)
    except ValueError:
        problems.add("$.start", "expected a time such as 2026-01-02T00:00:00Z")
        return 0.0
    if start.tzinfo is None:
        problems.add("$.start", "the time needs a zone, such as Z")
        return 0.0
    return start.timestamp()


def _horizon(spec: ScenarioSpec, problems: Problems) -> Horizon:
    until = spec.until
    time = math.inf if until.time is None else time_at(until.time, "$.until.time", problems, positive=True)
    after = None if until.arrivals is None else time_at(until.arrivals, "$.until.arrivals", problems)
    if until.time is None and after is None and not until.drained and not until.stuck:
        problems.required("$.until", "time, drained, arrivals or stuck")
    return Horizon(time, until.drained, after, until.stuck)


def _check_whole(scenario: LoadedScenario, problems: Problems) -> None:
    spec = scenario.spec
    for field, names in (
        ("nodes.pools", [pool.name for pool in spec.nodes.pools]),
        ("workloads", [workload.name for workload in spec.workloads]),
    ):
        counts = Counter(names)
        for index, name in enumerate(names):
            if name and counts[name] > 1:
                problems.duplicate(f"$.{field}[{index}].name", name)
    check_names(spec.workloads, scenario.workloads, problems)
    for name in ("grace", "ttl", "cycle"):
        time_at(getattr(spec, name), f"$.{name}", problems)
    if spec.record.every is not None:
        time_at(spec.record.every, "$.record.every", problems, positive=True)
    time_at(spec.record.from_, "$.record.from", problems)
    if spec.ties not in _TIES:
        problems.unsupported("$.ties", spec.ties, _TIES)
    for name, bound in spec.record.slo.items():
        if name not in _OBJECTIVES:
            problems.unsupported("$.record.slo", name, _OBJECTIVES)
        time_at(bound, f"$.record.slo.{name}", problems, positive=True)
    _check_churn(spec, problems)
    endless = [
        index
        for index, workload in enumerate(scenario.workloads)
        if workload.arrivals is not None
        and (workload.arrivals.closed is not None or _is_endless(spec.workloads[index].arrivals, workload))
    ]
    if scenario.horizon.time == math.inf and spec.autoscaler is not None:
        problems.add("$.until.time", "Required value: the autoscaler never ends")
    elif scenario.horizon.time == math.inf and spec.descheduler is not None and spec.descheduler.to is None:
        problems.add("$.until.time", "Required value: the descheduler never ends")
    elif scenario.horizon.time == math.inf:
        if endless:
            problems.add(f"$.workloads[{endless[0]}].arrivals", "never ends: set to, limit, or until.time")
        if any(failure.at is None for failure in scenario.failures) or any(
            not each.end < math.inf and each.every for each in scenario.churn
        ):
            problems.add("$.until.time", "Required value: failures or churn never end")


def _check_churn(spec: ScenarioSpec, problems: Problems) -> None:
    """Pods of manifests may name any workload."""
    known = {"", *(workload.name for workload in spec.workloads)}
    for index, churn in enumerate(spec.churn):
        if churn.delete is not None and churn.delete.workload not in known and not spec.manifests:
            problems.add(f"$.churn[{index}].delete.workload", f'no workload named "{churn.delete.workload}"')


def _is_endless(spec: Any, workload: CompiledWorkload) -> bool:
    arrivals = workload.arrivals
    assert arrivals is not None
    return not arrivals.limit and arrivals.end == math.inf and (spec.every or spec.poisson or spec.bursts) is not None
