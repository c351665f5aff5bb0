"""Expectations of a scenario: metrics within bounds, and states of pods at a moment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stowplan import api
from stowplan.simulator.scenario import LoadedScenario
from stowplan.simulator.scenario.pools import POOL_LABEL, ZONE_LABEL
from stowplan.simulator.scenario.quantities import seconds_of, time_text
from stowplan.simulator.scenario.schema import ExpectSpec
from stowplan.study.expectation_checks import BOUNDS, END, bound_of, check_expectations, percent_of
from stowplan.study.files import load_summary
from stowplan.study.metric_value import MetricValue
from stowplan.study.metrics import UTILISATION, better_sign, metrics_where, unit_of, window_metrics
from stowplan.study.result import CheckedExpectation

if TYPE_CHECKING:
    from stowplan.study.run import LiveRun

_SHORT_LABELS = {"zone": ZONE_LABEL, "pool": POOL_LABEL}


class Expectations:
    """The expectations of one run: notes values at their moments, and compares them at the end."""

    def __init__(self, scenario: LoadedScenario) -> None:
        check_expectations(scenario)
        self._scenario = scenario
        self._specs = scenario.spec.expect
        self._areas: dict[float, Mapping[str, float]] = {}
        self._found: dict[int, CheckedExpectation] = {}

    def moments(self) -> set[float]:
        """Times at which `reach` has to be called."""
        found: set[float] = set()
        for spec in self._specs:
            found.update(map(seconds_of, spec.over))
            if spec.at not in (None, END):
                found.add(seconds_of(spec.at))
        return found

    def reach(self, time: float, live: LiveRun, areas: Mapping[str, float]) -> None:
        """Note the values at a moment."""
        self._areas[time] = areas
        for index, spec in enumerate(self._specs):
            if spec.at not in (None, END) and seconds_of(spec.at) == time:
                self._found[index] = self._at_moment(spec, live, time)

    def check(
        self, live: LiveRun, values: list[MetricValue], begin: float, *, failed: bool = False
    ) -> tuple[CheckedExpectation, ...]:
        """All expectations at the end of the run. If it failed, those that were not decided before do not hold."""
        now = live.simulation.now
        for index, spec in enumerate(self._specs):
            if index in self._found:
                continue
            if failed:
                self._found[index] = CheckedExpectation(describe(spec), False, f"an error at {time_text(now)}")
            elif spec.at not in (None, END):
                self._found[index] = CheckedExpectation(describe(spec), False, f"the run ended at {time_text(now)}")
            elif spec.pods or spec.at == END:
                self._found[index] = self._at_moment(spec, live, now)
            elif spec.over:
                self._found[index] = self._over(spec)
            else:
                self._found[index] = self._whole(spec, live, values, begin)
        return tuple(self._found[index] for index in sorted(self._found))

    def _at_moment(self, spec: ExpectSpec, live: LiveRun, time: float) -> CheckedExpectation:
        if spec.pods:
            holds, found = pod_state(spec, live)
            return CheckedExpectation(describe(spec), holds, f"{found} at {time_text(time)}")
        value = live.recording.integrals.value
        if spec.metric.startswith(UTILISATION):
            resource = spec.metric.removeprefix(UTILISATION)
            whole = value(f"allocatable.{resource}")
            if not whole:
                return CheckedExpectation(describe(spec), False, f"no node has {resource} at {time_text(time)}")
            found_value = value(f"requested.{resource}") / whole
        elif spec.metric == "nodes.empty":
            found_value = value("nodes") - value("nodes.used")
        else:
            found_value = value(spec.metric)
        return _compared(spec, found_value, f" at {time_text(time)}")

    def _over(self, spec: ExpectSpec) -> CheckedExpectation:
        begin, end = map(seconds_of, spec.over)
        if end not in self._areas:
            return CheckedExpectation(describe(spec), False, "the run ended before the window did")
        before = self._areas[begin]
        span = {name: area - before.get(name, 0.0) for name, area in self._areas[end].items()}
        found = {each.metric: each.value for each in window_metrics(span, end - begin)}
        if spec.metric.startswith(UTILISATION) and spec.metric not in found:
            return CheckedExpectation(describe(spec), False, f"no node has {spec.metric.removeprefix(UTILISATION)}")
        return _compared(spec, found.get(spec.metric, 0.0), f" from {time_text(begin)} to {time_text(end)}")

    def _whole(self, spec: ExpectSpec, live: LiveRun, values: list[MetricValue], begin: float) -> CheckedExpectation:
        conditions = {name: _group_value(name, text, live) for name, text in spec.where.items()}
        if spec.where:
            values = list(metrics_where(live.recording, begin, live.simulation.now, conditions))
            if not _value(values, "pods"):
                return CheckedExpectation(describe(spec), False, "no such pods")
        found = _value(values, spec.metric)
        if found is None:
            return CheckedExpectation(describe(spec), False, "no values")
        within = _compared(spec, found, "")
        return self._compare(spec, found, conditions) if spec.compare and within.holds else within

    def _compare(self, spec: ExpectSpec, found: float, conditions: Mapping[str, object]) -> CheckedExpectation:
        _, rows = load_summary(self._scenario.folder / spec.compare)
        texts = {name: f"{value:g}" if isinstance(value, float) else value for name, value in conditions.items()}
        before = _value(rows, spec.metric, ",".join(f"{name}={text}" for name, text in texts.items()))
        if before is None:
            return CheckedExpectation(describe(spec), False, f"{_shown(spec.metric, found)}, before no values")
        worse = (before - found) * better_sign(spec.metric)
        holds = worse <= abs(before) * percent_of(spec.worse or "0%")
        shown = f"{_shown(spec.metric, found)}, before {_shown(spec.metric, before)}"
        return CheckedExpectation(describe(spec), holds, shown)


def _value(values: Iterable[MetricValue], metric: str, key: str = "") -> float | None:
    return next((each.value for each in values if each.metric == metric and each.key == key), None)


def _group_value(name: str, text: str, live: LiveRun) -> object:
    """A value of a column; a priority may be the name of a PriorityClass."""
    if name != "priority":
        return text
    found = live.simulation.api_server.get(api.PriorityClass, text)
    if found is not None:
        return float(found.value)
    return float(text) if text.lstrip("-").isdecimal() else math.nan


def _compared(spec: ExpectSpec, found: float, when: str) -> CheckedExpectation:
    holds = (
        (spec.below is None or found < bound_of(spec.below))
        and (spec.above is None or found > bound_of(spec.above))
        and (spec.equals is None or found == bound_of(spec.equals))
    )
    return CheckedExpectation(describe(spec), holds, _shown(spec.metric, found) + when)


def _shown(metric: str, value: float) -> str:
    return time_text(value) if unit_of(metric) == "s" else f"{value:.6g}"


def describe(spec: ExpectSpec) -> str:
    """The expectation in one line."""
    if spec.pods:
        who = ", ".join(f"{name}={value}" for name, value in spec.pods.items())
        if spec.all:
            return f"pods {who}: all {spec.all}"
        if spec.spread:
            return f"pods {who}: skew of {spec.spread} at most {spec.skew}"
        return f"pods {who}: on {', '.join(f'{name}={value}' for name, value in spec.on.items())}"
    where = " of " + ", ".join(f"{name}={value}" for name, value in spec.where.items()) if spec.where else ""
    bounds = [f"{name} {getattr(spec, name)}" for name in BOUNDS if getattr(spec, name) is not None]
    if spec.compare:
        bounds.append(f"at most {spec.worse or '0%'} worse than {spec.compare}")
    return f"{spec.metric}{where} {' and '.join(bounds)}"


def pod_state(spec: ExpectSpec, live: LiveRun) -> tuple[bool, str]:
    """Whether the pods are as expected, and how they are."""
    server = live.simulation.api_server
    pods = list(_chosen(spec, live))
    if not pods:
        return False, "no such pods"
    if spec.all:
        states = Counter("running" if pod.spec.node_name else "pending" for pod in pods)
        return states[spec.all] == len(pods), ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    nodes = {pod.spec.node_name: server.get(api.Node, pod.spec.node_name) for pod in pods}
    if spec.spread:
        domains = {node.metadata.labels[spec.spread]: 0 for node in server.all(api.Node)
                   if spec.spread in node.metadata.labels}  # fmt: skip
        for pod in pods:
            node = nodes[pod.spec.node_name]
            if node is not None and spec.spread in node.metadata.labels:
                domains[node.metadata.labels[spec.spread]] += 1
        skew = max(domains.values(), default=0) - min(domains.values(), default=0)
        return skew <= spec.skew, f"skew {skew} ({', '.join(f'{key} {n}' for key, n in sorted(domains.items()))})"
    wanted = {_SHORT_LABELS.get(name, name): value for name, value in spec.on.items()}
    elsewhere = [pod for pod in pods if not _has(nodes[pod.spec.node_name], wanted)]
    return not elsewhere, f"{len(pods) - len(elsewhere)} of {len(pods)} pods are"


def _has(node: Any, labels: Mapping[str, str]) -> bool:
    return node is not None and all(node.metadata.labels.get(key) == value for key, value in labels.items())


def _chosen(spec: ExpectSpec, live: LiveRun) -> Iterator[api.Pod]:
    labels = {key: value for key, value in spec.pods.items() if key not in ("name", "workload")}
    for life in live.simulation.kubelet.lives.values():
        if life.ended is not None:
            continue
        pod = life.pod
        if spec.pods.get("name", pod.metadata.name) != pod.metadata.name:
            continue
        if spec.pods.get("workload", life.workload) != life.workload:
            continue
        if all(pod.metadata.labels.get(key) == value for key, value in labels.items()):
            yield pod
