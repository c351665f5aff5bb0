"""What a scheduler may do: all that it needs under the roles that are meant for it, and what is left without some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import CLAIMS_ARE_SERVED
from tests.e2e.workload import Workload

from stowplan.config import default_configuration
from stowplan.config.feature_gates import COSCHEDULING, GENERIC_WORKLOAD
from stowplan.config.options import Options
from stowplan.scheduler.scheduler import Scheduler, SchedulerSettings
from stowplan.testing import SCHEDULER, KubeApi, RefusedError, User, wait_until
from stowplan.testing.objects import JsonObject

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROLES = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
ACCOUNT = User.service_account("kube-system", "stowplan-scheduler")
ELECTING: dict[str, Any] = {"leaderElect": True, "resourceName": "stowplan-scheduler"}
LEASES = "coordination.k8s.io/v1/Lease"
RBAC = "rbac.authorization.k8s.io/v1/"


def roles() -> list[JsonObject]:
    return list(yaml.safe_load_all(ROLES.read_text()))


class Grants:
    """Roles and bindings that are created for a test and removed after it."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._created: list[JsonObject] = []

    def create(self, objects: list[JsonObject]) -> None:
        for obj in objects:
            self._api.create(obj)
            self._created.append(obj)

    def remove(self) -> None:
        for obj in self._created:
            meta = obj["metadata"]
            self._api.delete(f"{obj['apiVersion']}/{obj['kind']}", meta["name"], meta.get("namespace", ""))
        for name in ("kube-scheduler", "stowplan-scheduler"):
            try:
                self._api.delete(LEASES, name, "kube-system")
            except RefusedError as refusal:
                if refusal.status != 404:
                    raise


@pytest.fixture
def grants(kube_api: KubeApi) -> Iterator[Grants]:
    grants = Grants(kube_api)
    yield grants
    grants.remove()


@pytest.fixture
def workload(kube_api: KubeApi, namespace: str, audit: Audit) -> Workload:
    workload = Workload(kube_api, namespace, audit)
    workload.prepare()
    return workload


@pytest.mark.parametrize(
    ("user", "given", "election"),
    [
        pytest.param(SCHEDULER, [], {"leaderElect": True}, id="the roles that the server has"),
        pytest.param(ACCOUNT, roles(), ELECTING, id="those of a second scheduler"),
    ],
)
def test_everything_can_be_done(
    workload: Workload,
    grants: Grants,
    start_stowplan: StartStowplan,
    user: User,
    given: list[JsonObject],
    election: dict[str, Any],
) -> None:
    grants.create(given)
    scheduler = start_stowplan(user=user, config={"leaderElection": election}, certificate=True)
    workload.plain_pods()
    workload.unschedulable_pod()
    workload.preemption()
    workload.volumes()
    if CLAIMS_ARE_SERVED:
        workload.devices()
    scheduler.stop()
    assert scheduler.returncode == 0
    log = scheduler.log.read_text().lower()
    assert "successfully acquired lease" in log
    assert "forbidden" not in log


def test_no_more_is_read_than_decisions_depend_on() -> None:
    (role,) = (each for each in roles() if each["kind"] == "ClusterRole")
    allowed = {
        (group, resource)
        for rule in role["rules"]
        if "watch" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert allowed == {(kind.api_version.rpartition("/")[0], kind.resource) for kind in watched_kinds()}


def watched_kinds() -> list[Any]:
    """The kinds that a scheduler of pod groups watches."""
    from stowplan.cluster.connection import Connection
    from stowplan.plugins.registry import REGISTRY

    unused: Any = None
    config = default_configuration()
    groups = config.release.with_gates({GENERIC_WORKLOAD: True, COSCHEDULING: True})
    options = Options(config=config.for_release(groups))
    return Scheduler(SchedulerSettings(options, REGISTRY, Connection("http://127.0.0.1", unused))).kinds


def without(objects: list[JsonObject], *forbidden: str) -> list[JsonObject]:
    """The roles with some rights taken away: `verb resource`."""
    lost = {(verb, resource) for verb, _, resource in (each.partition(" ") for each in forbidden)}
    for obj in objects:
        rules = obj.get("rules", [])
        obj["rules"] = [
            {**rule, "resources": [resource], "verbs": verbs}
            for rule in rules
            for resource in rule["resources"]
            if (verbs := [verb for verb in rule["verbs"] if (verb, resource) not in lost])
        ]
    return [obj if obj["rules"] else {k: v for k, v in obj.items() if k != "rules"} for obj in objects]


def start_without(control: tuple[Grants, StartStowplan], *forbidden: str) -> Callable[[str], bool]:
    """Start a scheduler that lacks these rights, and return how to ask what its log tells."""
    grants, start_stowplan = control
    grants.create(without(roles(), *forbidden))
    scheduler = start_stowplan(user=ACCOUNT, certificate=True)
    return lambda text: text in scheduler.log.read_text().replace('\\"', '"')


def test_what_can_be_done_without_some_permissions_is(
    workload: Workload, grants: Grants, start_stowplan: StartStowplan
) -> None:
    told = start_without(
        (grants, start_stowplan),
        "list services",
        "watch services",
        "watch csinodes",
        "create events",
        "delete pods",
    )
    workload.plain_pods()
    wait_until(
        lambda: told('"Failed to list" resource="services" err="Forbidden (403): services is forbidden: User "system:')
    )
    wait_until(lambda: told('"Failed to watch" resource="csinodes" err="Forbidden (403): '))
    wait_until(lambda: told('cannot create resource "events" in API group "events.k8s.io"'))
    workload.urgent_pod()
    wait_until(lambda: told('"Error occurred while preempting the pod" err="'))
    assert told('cannot delete resource "pods"')


def test_pods_are_bound_even_if_nobody_may_be_told_why_others_are_not(
    workload: Workload, grants: Grants, start_stowplan: StartStowplan
) -> None:
    told = start_without((grants, start_stowplan), "patch pods/status")
    workload.schedule("big", cpu="3")
    wait_until(lambda: told('cannot patch resource "pods/status"'))
    workload.plain_pods()


@pytest.mark.parametrize(
    "forbidden",
    [("list nodes", "watch nodes"), ("watch nodes",), ("list pods", "watch pods"), ("create pods/binding",)],
    ids=lambda forbidden: forbidden[0],
)
def test_without_others_nothing_can_be_done_and_that_is_told(
    kube_api: KubeApi,
    workload: Workload,
    namespace: str,
    grants: Grants,
    start_stowplan: StartStowplan,
    forbidden: tuple[str, ...],
) -> None:
    """The right to watch is enough where the server streams lists."""
    told = start_without((grants, start_stowplan), *forbidden)
    workload.schedule("p")
    verb, _, resource = forbidden[0].partition(" ")
    wait_until(lambda: told(f"cannot {verb} resource") and told(resource))
    assert not workload.is_bound("p") or verb == "watch"
    # Once the right is granted, nobody has to do anything else.
    kube_api.patch(f"{RBAC}ClusterRole", "stowplan-scheduler", {"rules": roles()[1]["rules"]}, "")
    wait_until(lambda: workload.is_bound("p"))
