"""Generates the Grafana dashboard, `stowplan.json`; `make manifests` runs it.

The tables below have the differences between panels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

SELECTOR = 'job=~"$job", pod=~"$pod"'
DISCOVERY = '{__name__=~"scheduler_pending_pods|stowplan_extender_requests_in_flight"'
"""Metrics of every scheduler and every extender, used to find them."""
WIDTH, HEIGHT = 8, 8
ACROSS = 24


class Panel(NamedTuple):
    """A graph: its queries by legend. `@` in a query is replaced by SELECTOR."""

    title: str
    unit: str
    queries: dict[str, str]
    text: str = ""


def quantiles(metric: str, by: str = "", where: str = "") -> dict[str, str]:
    """The median and the 99th percentile of a histogram, by labels if given."""
    labels = f"le, {by}" if by else "le"
    legend = f"{{{{{by}}}}} " if by else ""
    rates = f"sum by ({labels}) (rate({metric}_bucket{{@{where}}}[$__rate_interval]))"
    return {f"{legend}{name}": f"histogram_quantile({share}, {rates})" for name, share in (("p50", 0.5), ("p99", 0.99))}


def rate(metric: str, by: str) -> dict[str, str]:
    """Rate per second, by a label."""
    return {f"{{{{{by}}}}}": f"sum by ({by}) (rate({metric}{{@}}[$__rate_interval]))"}


ROWS: dict[str, tuple[Panel, ...]] = {
    "Pods": (
        Panel("Attempts", "ops", rate("scheduler_schedule_attempts_total", "result"), "Attempts per second by result."),
        Panel("Pending pods", "short", {"{{queue}}": "sum by (queue) (scheduler_pending_pods{@})"}, "By queue."),
        Panel(
            "Unschedulable pods",
            "short",
            {"{{plugin}}": "sum by (plugin) (scheduler_unschedulable_pods{@})"},
            "By rejecting plugin; a pod counts for each of them.",
        ),
        Panel(
            "Time until a pod is bound",
            "s",
            quantiles("scheduler_pod_scheduling_sli_duration_seconds"),
            "From entering the queue, without gated time.",
        ),
        Panel("Attempts per pod", "short", quantiles("scheduler_pod_scheduling_attempts")),
        Panel("Incoming pods", "ops", rate("scheduler_queue_incoming_pods_total", "event"), "By event."),
    ),
    "Decisions": (
        Panel(
            "Attempt duration",
            "s",
            quantiles("scheduler_scheduling_attempt_duration_seconds", "result"),
            "Including binding.",
        ),
        Panel("Decision duration", "s", quantiles("scheduler_scheduling_algorithm_duration_seconds")),
        Panel(
            "Extension points, p99",
            "s",
            {
                "{{extension_point}}": "histogram_quantile(0.99, sum by (le, extension_point) (rate("
                "scheduler_framework_extension_point_duration_seconds_bucket{@}[$__rate_interval])))"
            },
        ),
        Panel(
            "Plugins, mean",
            "s",
            {
                "{{plugin}} {{extension_point}}": "sum by (plugin, extension_point) (rate("
                "scheduler_plugin_execution_duration_seconds_sum{@}[$__rate_interval])) "
                "/ sum by (plugin, extension_point) "
                "(rate(scheduler_plugin_execution_duration_seconds_count{@}[$__rate_interval]))"
            },
        ),
        Panel("Waiting at Permit", "s", quantiles("scheduler_permit_wait_duration_seconds")),
        Panel("Plugin evaluations", "ops", rate("scheduler_plugin_evaluation_total", "plugin")),
    ),
    "Pod groups": (
        Panel(
            "Group attempts",
            "ops",
            rate("scheduler_podgroup_schedule_attempts_total", "result"),
            "Pod group cycles per second by result.",
        ),
        Panel(
            "Group attempt duration",
            "s",
            quantiles("scheduler_podgroup_scheduling_attempt_duration_seconds", "result"),
            "Algorithm, preemption and submission, without binding.",
        ),
        Panel(
            "Group decision duration",
            "s",
            quantiles("scheduler_podgroup_scheduling_algorithm_duration_seconds"),
            "The algorithm alone.",
        ),
        Panel(
            "Members that wait for their gang",
            "short",
            {"{{pod}}": 'sum by (pod) (scheduler_unschedulable_pods{@, plugin="GangScheduling"})'},
            "Gated until the PodGroup and enough members exist.",
        ),
        Panel(
            "Placement plugins, p99",
            "s",
            {
                "{{extension_point}}": "histogram_quantile(0.99, sum by (le, extension_point) (rate("
                'scheduler_framework_extension_point_duration_seconds_bucket{@, extension_point=~"Placement.*"}'
                "[$__rate_interval])))"
            },
        ),
    ),
    "Preemption": (
        Panel(
            "Preemption attempts",
            "ops",
            {"attempts": "sum(rate(scheduler_preemption_attempts_total{@}[$__rate_interval]))"},
        ),
        Panel("Victims", "short", quantiles("scheduler_preemption_victims"), "Per preemption."),
        Panel("Preemptions", "ops", rate("scheduler_preemption_goroutines_execution_total", "result")),
    ),
    "Calls to extenders": (
        Panel(
            "Call duration",
            "s",
            quantiles("stowplan_extender_call_duration_seconds", "verb"),
        ),
        Panel("Calls", "ops", rate("stowplan_extender_call_duration_seconds_count", "result")),
        Panel(
            "Circuit open",
            "short",
            {"{{extender}} {{verb}}": "max by (extender, verb) (stowplan_extender_circuit_open{@})"},
            "Not called after repeated failures.",
        ),
    ),
    "Extender": (
        Panel("Requests", "reqps", rate("stowplan_extender_requests_total", "verb")),
        Panel("Request duration", "s", quantiles("stowplan_extender_request_duration_seconds", "verb")),
        Panel("Nodes rejected", "ops", rate("stowplan_extender_rejected_nodes_total", "reason"), "By reason."),
        Panel("Plugin errors", "ops", rate("stowplan_extender_errors_total", "verb")),
        Panel(
            "Reservations",
            "short",
            {"{{plugin}}": "sum by (plugin) (stowplan_extender_reservations{@})"},
            "For pods that are not bound yet.",
        ),
        Panel("Cached nodes", "short", {"{{pod}}": "max by (pod) (stowplan_extender_cache_nodes{@})"}),
    ),
    "Process": (
        Panel("Cached objects", "short", {"{{type}}": "max by (type) (scheduler_cache_size{@})"}),
        Panel(
            "Leader",
            "short",
            {"{{pod}}": "max by (pod) (leader_election_master_status{@})"},
            "1 for one replica.",
        ),
        Panel("Requests to the API server", "reqps", rate("rest_client_requests_total", "code")),
        Panel(
            "Requests, p99",
            "s",
            {
                "{{verb}}": "histogram_quantile(0.99, sum by (le, verb) (rate("
                "rest_client_request_duration_seconds_bucket{@}[$__rate_interval])))"
            },
        ),
        Panel("CPU", "short", {"{{pod}}": "sum by (pod) (rate(process_cpu_seconds_total{@}[$__rate_interval]))"}),
        Panel("Memory", "bytes", {"{{pod}}": "max by (pod) (process_resident_memory_bytes{@})"}),
    ),
}


def variable(name: str, query: str) -> dict[str, Any]:
    """A dashboard variable: one, several or all values of a label."""
    return {
        "name": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": {"query": query, "refId": name},
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
        "refresh": 2,
    }


def graph(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + index), "expr": query.replace("@", SELECTOR), "legendFormat": legend}
        for index, (legend, query) in enumerate(panel.queries.items())
    ]
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.text,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {
            "tooltip": {"mode": "multi", "sort": "desc"},
            "legend": {"displayMode": "list", "placement": "bottom"},
        },
        "targets": targets,
    }


def panels() -> Iterator[dict[str, Any]]:
    number, y = 0, 0
    for title, row in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "gridPos": {"x": 0, "y": y, "w": ACROSS, "h": 1},
            "panels": [],
        }
        y += 1
        for index, panel in enumerate(row):
            number += 1
            yield graph(panel, number, index * WIDTH % ACROSS, y + index * WIDTH // ACROSS * HEIGHT)
        y += (len(row) * WIDTH + ACROSS - 1) // ACROSS * HEIGHT


def dashboard() -> dict[str, Any]:
    return {
        "uid": "stowplan",
        "title": "Stowplan",
        "tags": ["kubernetes", "scheduler"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                variable("job", f"label_values({DISCOVERY}}}, job)"),
                variable("pod", f'label_values({DISCOVERY}, job=~"$job"}}, pod)'),
            ]
        },
        "panels": list(panels()),
    }


def text() -> str:
    """The dashboard as JSON, one line per panel, for readable diffs."""
    whole = dashboard()
    lines = ",\n  ".join(json.dumps(panel) for panel in whole.pop("panels"))
    return f'{json.dumps(whole, indent=1)[:-2]},\n "panels": [\n  {lines}\n ]\n}}\n'


if __name__ == "__main__":
    sys.stdout.write(text())
