"""Pod groups at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from stowplan import api
from stowplan.api.pod_group import COSCHEDULING_LABEL, POD_GROUP_SCHEDULED, POD_GROUP_VERSIONS, pod_group_rules
from stowplan.cache import Cluster
from stowplan.simulator.api_server import ApiServer

_HEADINGS = ["NAMESPACE", "POD GROUP", "POLICY", "STATUS", "MEMBERS", "PLACED", "NEEDED", "DOMAIN"]


class PodGroupReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A PodGroup and its members."""

    pod_group: str
    """Namespace and name."""
    policy: str
    """Gang or Basic, as `kubectl get podgroups` prints it."""
    status: str
    """Scheduled, Unschedulable, or Pending before the first attempt."""
    members: int
    placed: int
    min_count: int | None = None
    topology_key: str = ""
    domain: str = ""
    """The value of the topology key on the nodes of the members."""
    message: str = ""


def pod_groups_of(api_server: ApiServer, cluster: Cluster) -> Iterator[PodGroupReport]:
    """The groups, sorted by name."""
    members: dict[tuple[str, str], list[api.Pod]] = {}
    found = [group for kind in POD_GROUP_VERSIONS for group in api_server.all(kind)]
    groups = sorted(found, key=lambda group: (group.metadata.namespace, group.metadata.name))
    for pod in api_server.all(api.Pod) if groups else ():
        group = pod.spec.scheduling_group
        name = pod.metadata.labels.get(COSCHEDULING_LABEL) if group is None else group.pod_group_name
        if name:
            members.setdefault((pod.metadata.namespace, name), []).append(pod)
    for group in groups:
        pods = members.get((group.metadata.namespace, group.metadata.name), [])
        yield _report(group, pods, cluster)


def _report(group: Any, pods: list[api.Pod], cluster: Cluster) -> PodGroupReport:
    rules = pod_group_rules(group)
    condition = group.condition(POD_GROUP_SCHEDULED) if isinstance(group, api.PodGroup) else None
    placed = [pod for pod in pods if pod.spec.node_name]
    infos = [cluster.nodes.get(pod.spec.node_name) for pod in placed] if rules.topology_key else []
    domains = {info.labels.get(rules.topology_key, "") for info in infos if info is not None}
    scheduled = len(placed) >= (rules.min_count or 1) if condition is None else condition.status == "True"
    status = "Scheduled" if scheduled else "Pending" if condition is None else "Unschedulable"
    return PodGroupReport(
        pod_group=f"{group.metadata.namespace}/{group.metadata.name}",
        policy="Basic" if rules.min_count is None else "Gang",
        status=status,
        members=len(pods),
        placed=len(placed),
        min_count=rules.min_count,
        topology_key=rules.topology_key,
        domain=", ".join(sorted(domains)),
        message="" if condition is None else condition.message,
    )


def pod_group_table(groups: Sequence[PodGroupReport]) -> tuple[list[str], list[list[str]], list[str]]:
    """Headings, rows, and the headings of columns with numbers."""
    rows = []
    for each in groups:
        namespace, _, name = each.pod_group.partition("/")
        needed = "-" if each.min_count is None else str(each.min_count)
        rows.append(
            [namespace, name, each.policy, each.status, str(each.members), str(each.placed), needed, each.domain or "-"]
        )
    return _HEADINGS, rows, ["MEMBERS", "PLACED", "NEEDED"]
