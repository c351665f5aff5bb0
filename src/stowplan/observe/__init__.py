"""Metrics, log lines and health checks of a scheduler.

Belongs here: metrics that cost next to nothing until a scrape; kube-scheduler's metrics by name, label, bucket and help
text; log lines in kube-scheduler's words; health checks.
A metric is defined in `metrics` and fed in `metrics_observer`, which the engine calls (`engine.observer`); metrics of a
whole attempt are fed in `attempt_metrics`, gauges in `gauges`. Metrics of other subjects are defined and fed in one
module: `rest_client_metrics`, `access_metrics`, `extender_metrics`, `component_metrics`, `health`, `resource_metrics`.
Does not belong here: servers (`serving`), and the format of log lines (`logs`).
May import: `engine` and everything below it.
"""
