"""Pods that find a place in other zones, because new nodes keep the zones even."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from stowplan import api
from stowplan.api.selector_words import listed
from stowplan.cache.volumes import ZONE
from stowplan.simulator.report.report import SimulationReport
from stowplan.simulator.what_if.difference import key_of_pod
from stowplan.simulator.what_if.run import ClusterRun

_HARD = "DoNotSchedule"


def even_zones(run: ClusterRun, before: SimulationReport, after: SimulationReport, new_nodes: Collection[str]) -> str:
    """`with those, b and c take 18 more each without being ahead of a by more than 1`; empty if that is not the case of
    the workload that gets most places."""
    pending = {pod.pod for pod in before.pods if not pod.node}
    placed = [pod for pod in after.pods if pod.node and pod.pod in pending]
    on_new = Counter(key_of_pod(pod) for pod in placed if pod.node in new_nodes)
    if not on_new:
        return ""
    workload = min(on_new, key=lambda key: (-on_new[key], key))
    own = [pod for pod in placed if key_of_pod(pod) == workload]
    max_skew = _max_skew(run, own[0].pod)
    grown = {pod.zone for pod in own if pod.node in new_nodes}
    others = Counter(pod.zone for pod in own if pod.node not in new_nodes and pod.zone and pod.zone not in grown)
    if not max_skew or not others or len(grown) != 1 or len(set(others.values())) != 1:
        return ""
    number = next(iter(others.values()))
    each = " each" if len(others) > 1 else ""
    take = "take" if len(others) > 1 else "takes"
    ahead = f"without being ahead of {next(iter(grown))} by more than {max_skew:,}"
    return f"with those, {listed(sorted(others))} {take} {number:,} more{each} {ahead}"


def _max_skew(run: ClusterRun, name: str) -> int:
    """Of the pod's constraint that keeps zones even; 0 without one."""
    namespace, _, name = name.partition("/")
    pod = run.api_server.get(api.Pod, name, namespace)
    constraints = () if pod is None else pod.spec.topology_spread_constraints
    return min((each.max_skew for each in constraints if _keeps_even(each)), default=0)


def _keeps_even(constraint: api.TopologySpreadConstraint) -> bool:
    return constraint.topology_key == ZONE and constraint.when_unsatisfiable == _HARD
