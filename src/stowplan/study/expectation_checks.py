"""Checks of expectations before a run: each metric takes only the qualifiers for which it has values."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.strict_decoding import suggestion
from stowplan.errors import InputError
from stowplan.simulator.scenario import LoadedScenario
from stowplan.simulator.scenario.fields import time_at
from stowplan.simulator.scenario.quantities import seconds_of
from stowplan.simulator.scenario.schema import ExpectSpec
from stowplan.study.files import load_summary
from stowplan.study.grouped_rows import GROUPS
from stowplan.study.metrics import METRICS_OVER_TIME, UTILISATION, better_sign, known_metrics, qualifiers_of

END = "end"
BOUNDS = ("below", "above", "equals")
_STATES = ("running", "pending")
_STATES_OF_PODS = ("all", "spread", "on")
_OF_METRICS = ("where", "over", *BOUNDS, "compare", "worse")
_SLO = "slo."
_LACKS = {
    "at": f"has no value at a moment; {METRICS_OVER_TIME} have one",
    "over": f"has no value over a window of time; cost, {METRICS_OVER_TIME} have one",
    "where": f"has no values by {', '.join(GROUPS[:-1])} and {GROUPS[-1]}; metrics of pods and jobs have them",
}


def check_expectations(scenario: LoadedScenario) -> None:
    """Raise ConfigError if an expectation cannot be checked."""
    problems = Problems()
    for index, each in enumerate(scenario.spec.expect):
        _check(each, f"$.expect[{index}]", problems, scenario)
    if problems.errors:
        raise InvalidConfigurationError(scenario.source, problems.errors)


def _check(spec: ExpectSpec, path: str, problems: Problems, scenario: LoadedScenario) -> None:
    if bool(spec.metric) == bool(spec.pods):
        problems.add(path, "expected one of metric and pods")
        return
    if spec.at not in (None, END):
        time_at(spec.at, f"{path}.at", problems)
    if spec.skew != ExpectSpec().skew and not spec.spread:
        problems.add(f"{path}.skew", "needs spread")
    for name in _STATES_OF_PODS if spec.metric else _OF_METRICS:
        if getattr(spec, name) not in (None, "", (), {}):
            problems.add(f"{path}.{name}", "only of pods" if spec.metric else "only of a metric")
    if spec.metric:
        _check_of_metric(spec, path, problems, scenario)
        return
    if sum(map(bool, (spec.all, spec.spread, spec.on))) != 1:
        problems.add(path, f"expected one of {', '.join(_STATES_OF_PODS[:-1])} and {_STATES_OF_PODS[-1]}")
    if spec.all and spec.all not in _STATES:
        problems.unsupported(f"{path}.all", spec.all, _STATES)
    _check_workload(spec.pods, f"{path}.pods", problems, scenario)


def _check_of_metric(spec: ExpectSpec, path: str, problems: Problems, scenario: LoadedScenario) -> None:
    if _is_known(spec.metric, f"{path}.metric", problems, scenario):
        _check_qualifiers(spec, path, problems)
    bounds = [name for name in BOUNDS if getattr(spec, name) is not None]
    if not bounds and not spec.compare:
        problems.add(path, "expected below, above, equals or compare")
    for name in bounds:
        bound_of(getattr(spec, name), f"{path}.{name}", problems)
    for name in spec.where:
        if name not in GROUPS:
            problems.add(f"{path}.where.{name}", f"expected {', '.join(GROUPS)}")
    _check_workload(spec.where, f"{path}.where", problems, scenario)
    if spec.over:
        edges = [time_at(value, f"{path}.over[{index}]", problems) for index, value in enumerate(spec.over)]
        if len(edges) != 2 or edges[0] >= edges[1]:
            problems.add(f"{path}.over", "expected two ascending times")
    if spec.compare:
        _check_comparison(spec, path, problems, scenario)
    elif spec.worse:
        problems.add(f"{path}.worse", "needs compare")


def _check_qualifiers(spec: ExpectSpec, path: str, problems: Problems) -> None:
    allowed = qualifiers_of(spec.metric)
    given = {"at": spec.at is not None, "over": bool(spec.over), "where": bool(spec.where)}
    for name, is_given in given.items():
        if is_given and name not in allowed:
            problems.add(f"{path}.{name}", f"{spec.metric} {_LACKS[name]}")
    if given["at"] and given["over"]:
        problems.add(f"{path}.over", "at and over exclude each other")


def _is_known(metric: str, path: str, problems: Problems, scenario: LoadedScenario) -> bool:
    """Adds a metric that the run will not have. Nodes of traces and manifests may have any resource."""
    resources = {name for pool in scenario.pools for name in pool.template.status.allocatable}
    known = known_metrics(sorted(resources - {"pods"}))
    objective = metric.removeprefix(_SLO)
    if objective != metric and metric in known and objective not in scenario.spec.record.slo:
        problems.add(path, f"{metric} needs a bound in $.record.slo.{objective}")
        return False
    if metric in known or (metric.startswith(UTILISATION) and (scenario.node_trace or scenario.spec.manifests)):
        return True
    if metric.startswith(UTILISATION):
        resource = metric.removeprefix(UTILISATION)
        problems.add(path, f"no node has the resource {resource}{suggestion(resource, resources)}")
    else:
        problems.add(path, f"unknown metric {metric}{suggestion(metric, known)}")
    return False


def _check_workload(given: Mapping[str, str], path: str, problems: Problems, scenario: LoadedScenario) -> None:
    """Pods of manifests may name any workload."""
    name, known = given.get("workload"), [workload.name for workload in scenario.workloads]
    if name is not None and name not in known and not scenario.spec.manifests:
        problems.add(f"{path}.workload", f'no workload is named "{name}"{suggestion(name, known)}')


def _check_comparison(spec: ExpectSpec, path: str, problems: Problems, scenario: LoadedScenario) -> None:
    if spec.at is not None or spec.over:
        problems.add(f"{path}.compare", "whole runs are compared; remove at and over")
        return
    if not better_sign(spec.metric):
        problems.add(f"{path}.compare", f"neither a larger nor a smaller {spec.metric} is better")
    try:
        percent_of(spec.worse or "0%")
    except ValueError as error:
        problems.add(f"{path}.worse", str(error))
    try:
        load_summary(scenario.folder / spec.compare)
    except InputError as error:
        problems.add(f"{path}.compare", str(error))


def percent_of(text: str) -> float:
    """The share of a percentage such as `5%`. Raises ValueError."""
    if text.endswith("%"):
        try:
            return float(text[:-1]) / 100
        except ValueError:
            pass
    raise ValueError("expected a percentage such as 5%")


def bound_of(value: object, path: str = "", problems: Problems | None = None) -> float:
    """A bound as a number: of seconds for a time, of 1 for a percentage. nan if it is faulty."""
    try:
        return percent_of(value) if isinstance(value, str) and value.endswith("%") else seconds_of(value)
    except ValueError:
        if problems is not None:
            problems.add(path, "expected a number, a time such as 5m, or a percentage")
        return math.nan
