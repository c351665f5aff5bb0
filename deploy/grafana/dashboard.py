"""Makes the Grafana dashboard, `stowplan.json`; `make manifests` runs it.

A dashboard is a long text of mostly the same. What differs from panel to panel is in the tables below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

SELECTOR = 'job=~"$job", pod=~"$pod"'
OURS = '{__name__=~"scheduler_pending_pods|stowplan_extender_requests_in_flight"'
"""What every scheduler and every extender tells, by which they are found."""
WIDTH, HEIGHT = 8, 8
ACROSS = 24


class Panel(NamedTuple):
    """A graph: its queries by legend. `@` in a query stands for the selector of what is looked at."""

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
    """How often a second, by a label."""
    return {f"{{{{{by}}}}}": f"sum by ({by}) (rate({metric}{{@}}[$__rate_interval]))"}


ROWS: dict[str, tuple[Panel, ...]] = {
    "Pods": (
        Panel("Attempts", "ops", rate("scheduler_schedule_attempts_total", "result"), "Attempts a second, by result."),
        Panel("Pending pods", "short", {"{{queue}}": "sum by (queue) (scheduler_pending_pods{@})"}, "By queue."),
        Panel(
            "Unschedulable pods",
            "short",
            {"{{plugin}}": "sum by (plugin) (scheduler_unschedulable_pods{@})"},
            "By the plugins that rejected them; a pod counts for each.",
        ),
        Panel(
            "Time until a pod is bound",
            "s",
            quantiles("scheduler_pod_scheduling_sli_duration_seconds"),
            "From when it was first ready to be tried.",
        ),
        Panel("Attempts that a pod takes", "short", quantiles("scheduler_pod_scheduling_attempts")),
        Panel("Into the queues", "ops", rate("scheduler_queue_incoming_pods_total", "event"), "By what brought them."),
    ),
    "Decisions": (
        Panel(
            "An attempt",
            "s",
            quantiles("scheduler_scheduling_attempt_duration_seconds", "result"),
            "From its begin to its end, the binding included.",
        ),
        Panel("A decision", "s", quantiles("scheduler_scheduling_algorithm_duration_seconds")),
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
        Panel("Plugins asked", "ops", rate("scheduler_plugin_evaluation_total", "plugin")),
    ),
    "Preemption": (
        Panel(
            "Looked into",
            "ops",
            {"attempts": "sum(rate(scheduler_preemption_attempts_total{@}[$__rate_interval]))"},
        ),
        Panel("Victims", "short", quantiles("scheduler_preemption_victims"), "Of one preemption."),
        Panel("Carried out", "ops", rate("scheduler_preemption_goroutines_execution_total", "result")),
    ),
    "Extenders that are asked": (
        Panel(
            "A call",
            "s",
            quantiles("stowplan_extender_call_duration_seconds", "verb"),
        ),
        Panel("Calls", "ops", rate("stowplan_extender_call_duration_seconds_count", "result")),
        Panel(
            "Not asked at present",
            "short",
            {"{{extender}} {{verb}}": "max by (extender, verb) (stowplan_extender_circuit_open{@})"},
            "Since they did not answer.",
        ),
    ),
    "The extender": (
        Panel("Requests", "reqps", rate("stowplan_extender_requests_total", "verb")),
        Panel("Time to answer", "s", quantiles("stowplan_extender_request_duration_seconds", "verb")),
        Panel("Nodes rejected", "ops", rate("stowplan_extender_rejected_nodes_total", "reason"), "By reason."),
        Panel("Without an answer of the plugins", "ops", rate("stowplan_extender_errors_total", "verb")),
        Panel(
            "Reservations held",
            "short",
            {"{{plugin}}": "sum by (plugin) (stowplan_extender_reservations{@})"},
            "For pods that are not bound yet.",
        ),
        Panel("Known nodes", "short", {"{{pod}}": "max by (pod) (stowplan_extender_cache_nodes{@})"}),
    ),
    "The process": (
        Panel("Known objects", "short", {"{{type}}": "max by (type) (scheduler_cache_size{@})"}),
        Panel(
            "Holds the lease",
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
    """Something to choose in the dashboard: several values of a label, or all."""
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
                variable("job", f"label_values({OURS}}}, job)"),
                variable("pod", f'label_values({OURS}, job=~"$job"}}, pod)'),
            ]
        },
        "panels": list(panels()),
    }


def text() -> str:
    """As JSON, with a line for each panel, so that a change shows where it was made."""
    whole = dashboard()
    lines = ",\n  ".join(json.dumps(panel) for panel in whole.pop("panels"))
    return f'{json.dumps(whole, indent=1)[:-2]},\n "panels": [\n  {lines}\n ]\n}}\n'


if __name__ == "__main__":
    sys.stdout.write(text())
