"""The Helm chart: what its values come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from tests.deploy.conftest import NAMESPACE, Refuse, Render, binary, run
from tests.deploy.rendered import DEPLOY, containers, file, find, pod_specs, roles

from stowplan._version import __version__
from stowplan.cli.extender import extender as extender_command
from stowplan.config import load
from stowplan.config.feature_gates import (
    COSCHEDULING,
    COSCHEDULING_GATES,
    GANG_SCHEDULING,
    GENERIC_WORKLOAD,
    TOPOLOGY_AWARE,
    WORKLOAD_CLAIMS,
    WORKLOAD_PREEMPTION,
)
from stowplan.config.flags.parsing import parse
from stowplan.extender.server import configuration as extender_configuration
from stowplan.extender.server.configuration import TLS, ExtenderServerConfiguration
from stowplan.testing.objects import JsonObject

KINDS = {
    "scheduler": {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "PodDisruptionBudget", "Role"}
    | {"RoleBinding", "Service", "ServiceAccount"},
    "extender": {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "PodDisruptionBudget", "Service"}
    | {"NetworkPolicy", "ServiceAccount"},
}
LOADED = {"load": ["racks:Care"]}
BINDS = {"bind": True, "tls": {"enabled": True, "existingSecret": "pair", "clientCASecret": "clients"}}
CERTIFIED = {"enabled": True, "certManager": {"enabled": True, "issuerRef": {"name": "cluster"}}}


def extender_config(objects: list[JsonObject]) -> ExtenderServerConfiguration:
    """What the extender makes of its file."""
    text = find(objects, "ConfigMap", "-extender")["data"]["extender.yaml"]
    return extender_configuration.load(text, "extender.yaml", {})


@pytest.mark.parametrize("mode", ["scheduler", "extender", "both"])
def test_a_mode_has_what_it_takes_and_no_more(chart: Render, mode: str) -> None:
    objects = chart(mode=mode, plugins=LOADED)
    wanted = KINDS["scheduler"] | KINDS["extender"] if mode == "both" else KINDS[mode]
    assert {obj["kind"] for obj in objects} == wanted
    assert [each["name"] for each in containers(objects)] == (["extender", "scheduler"] if mode == "both" else [mode])
    keys = [(obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace")) for obj in objects]
    assert len(keys) == len(set(keys))


def test_the_configuration_is_one_that_the_scheduler_takes(chart: Render) -> None:
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b"}]
    objects = chart(scheduler={"config": {"profiles": profiles, "leaderElection": {"retryPeriod": "3s"}}})
    text = find(objects, "ConfigMap", "-scheduler")["data"]["scheduler.yaml"]
    config = load(text.encode(), "scheduler.yaml")
    assert [profile.scheduler_name for profile in config.profiles] == ["a", "b"]
    election = config.leader_election
    assert (election.resource_name, election.resource_namespace) == ("demo-stowplan-scheduler", NAMESPACE)
    assert (str(election.retry_period), str(election.lease_duration)) == ("3s", "15s")


def test_the_extender_is_configured_as_its_values_say(chart: Render) -> None:
    values = {**BINDS, "urlPrefix": "/racks", "config": {"httpTimeout": "2s", "verbs": {"bind": "place"}}}
    objects = chart(mode="extender", extender=values, plugins=LOADED)
    config = extender_config(objects)
    assert (config.serving.port, config.serving.url_prefix, config.monitoring.port) == (8888, "/racks", 8889)
    assert (str(config.http_timeout), config.verbs.bind, config.verbs.filter) == ("2s", "place", "filter")
    election = config.cluster.leader_election
    (named,) = [r["resourceNames"] for r in find(objects, "Role", "-binding")["rules"] if "resourceNames" in r]
    assert (election.leader_elect, [election.resource_name]) == (True, named)
    assert election.resource_namespace == NAMESPACE


def test_an_extender_that_binds_requires_client_certificates(chart: Render, refused: Refuse) -> None:
    config = extender_config(chart(mode="extender", extender=BINDS, plugins=LOADED))
    assert (config.verbs.bind, config.serving.tls.client_ca_file) == ("bind", "/etc/stowplan-clients/ca.crt")
    assert extender_config(chart(mode="extender", plugins=LOADED)).verbs.bind == ""
    tls = {"enabled": True, "existingSecret": "pair"}
    for values in ({"bind": True}, {"bind": True, "tls": tls}, {"bind": True, "tls": {"clientCASecret": "clients"}}):
        why = refused({"mode": "extender", "extender": values, "plugins": LOADED})
        assert "extender.bind: any client that reaches the port could bind pods" in why
    local = {"bind": True, "config": {"serving": {"bindAddress": "127.0.0.1"}}}
    assert extender_config(chart(mode="extender", extender=local, plugins=LOADED)).verbs.bind == "bind"


def test_a_network_policy_names_who_may_call(chart: Render) -> None:
    peers = [{"ipBlock": {"cidr": "10.0.0.0/28"}}]
    objects = chart(mode="extender", extender={"networkPolicy": {"from": peers}}, plugins=LOADED)
    policy = find(objects, "NetworkPolicy", "-extender")["spec"]
    labels = find(objects, "Deployment", "-extender")["spec"]["selector"]["matchLabels"]
    assert policy["podSelector"]["matchLabels"] == labels
    verbs, metrics = policy["ingress"]
    assert (verbs["ports"][0]["port"], verbs["from"]) == ("extender", peers)
    assert (metrics["ports"][0]["port"], "from" in metrics) == ("metrics", False)
    off = chart(mode="extender", extender={"networkPolicy": {"enabled": False}}, plugins=LOADED)
    assert "NetworkPolicy" not in {obj["kind"] for obj in off}
    assert "NetworkPolicy" not in {obj["kind"] for obj in chart(mode="scheduler")}


@pytest.mark.parametrize("values", [{}, {"kind": "DaemonSet"}, {"hostNetwork": True}])
def test_an_extender_that_binds_has_a_network_policy(chart: Render, values: dict[str, Any]) -> None:
    objects = chart(mode="both", extender={**BINDS, **values}, plugins=LOADED)
    assert find(objects, "NetworkPolicy", "-extender")["spec"]["policyTypes"] == ["Ingress"]


PEERS = [{"ipBlock": {"cidr": "10.0.0.0/28"}}]


@pytest.mark.parametrize(
    ("values", "warns"),
    [
        ({}, False),
        (BINDS, True),
        ({"bind": True, "config": {"serving": {"bindAddress": "127.0.0.1"}}}, False),
        ({**BINDS, "networkPolicy": {"from": PEERS}}, False),
        ({**BINDS, "networkPolicy": {"metricsFrom": PEERS}}, True),
        ({**BINDS, "networkPolicy": {"enabled": False, "from": PEERS}}, True),
    ],
)
def test_the_notes_warn_of_a_bind_verb_that_every_address_reaches(
    notes: Callable[..., str], values: dict[str, Any], warns: bool
) -> None:
    text = notes(mode="extender", extender=values, plugins=LOADED)
    assert ("WARNING: every address" in text) == warns
    assert yaml.safe_load(text[text.index("  extenders:\n") :])["extenders"]


def test_an_extender_that_elects_can_be_updated_and_moved(chart: Render) -> None:
    """Its replicas but one are never ready, which neither a rollout nor a drain may wait for."""
    objects = chart(mode="extender", extender=BINDS, plugins=LOADED)
    update = find(objects, "Deployment", "-extender")["spec"]["strategy"]["rollingUpdate"]
    assert update["maxUnavailable"] == "100%"
    assert "PodDisruptionBudget" not in {obj["kind"] for obj in objects}
    for values in ({"kind": "DaemonSet"}, {"hostNetwork": True}):
        local = chart(mode="extender", extender={**BINDS, **values}, plugins=LOADED)
        assert not extender_config(local).cluster.leader_election.leader_elect
        assert "PodDisruptionBudget" in {obj["kind"] for obj in local}


@pytest.mark.parametrize(
    ("values", "source"),
    [
        ("scheduler", "rbac.yaml"),
        ("extender", "rbac-extender.yaml"),
    ],
)
def test_the_roles_are_those_that_the_tests_run_with(chart: Render, values: str, source: str) -> None:
    objects = chart(mode=values, extender=BINDS, plugins=LOADED)
    renamed = {(kind, name.replace("demo-", "")): rules for (kind, name), rules in roles(objects).items()}
    assert renamed == roles(file(source))
    assert renamed
    account = find(objects, "ServiceAccount", f"-{values}")["metadata"]
    bindings = [obj for obj in objects if obj["kind"].endswith("RoleBinding") or obj["kind"] == "ClusterRoleBinding"]
    for binding in bindings:
        subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": NAMESPACE}
        assert binding["subjects"] == [subject]
    assert all(spec["serviceAccountName"] == account["name"] for spec in pod_specs(objects))


@pytest.mark.parametrize("at", ["leaderElection", "config"])
def test_the_lease_is_the_one_that_the_role_is_about(chart: Render, at: str) -> None:
    given = {"resourceName": "mine"}
    objects = chart(scheduler={at: given if at == "leaderElection" else {"leaderElection": given}})
    role = find(objects, "Role", "-scheduler")
    assert role["metadata"]["namespace"] == NAMESPACE
    assert [rule["resourceNames"] for rule in role["rules"] if "resourceNames" in rule] == [["mine"]]
    config = yaml.safe_load(find(objects, "ConfigMap", "-scheduler")["data"]["scheduler.yaml"])
    assert config["leaderElection"]["resourceName"] == "mine"


def test_bindings_are_a_right_of_extenders_that_bind(chart: Render) -> None:
    assert [name for _, name in roles(chart(mode="extender", plugins=LOADED))] == ["demo-stowplan-extender"]
    extra = {"apiGroups": ["example.com"], "resources": ["racks"], "verbs": ["list", "watch"]}
    (rules,) = roles(chart(mode="extender", plugins=LOADED, rbac={"extraRules": [extra]})).values()
    assert rules[-1] == extra


def test_permissions_of_optional_plugins_are_added_on_request(chart: Render) -> None:
    role, _ = yaml.safe_load_all((DEPLOY / "rbac-optional-plugins.yaml").read_text())
    plain = find(chart(), "ClusterRole", "-scheduler")["rules"]
    assert find(chart(rbac={"optionalPlugins": True}), "ClusterRole", "-scheduler")["rules"] == plain + role["rules"]


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_what_refers_to_something_finds_it(chart: Render, kind: str) -> None:
    """Probes and Services find ports, Services and budgets pods, and monitors Services."""
    objects = chart(
        mode="both",
        plugins=LOADED,
        serviceMonitor={"enabled": True},
        scheduler={"port": 10260},
        extender={"kind": kind, "port": 80, "metricsPort": 81},
    )
    pods = [obj["spec"]["template"] for obj in objects if obj["kind"] in ("Deployment", "DaemonSet")]
    for container in containers(objects):
        ports = {port["name"] for port in container["ports"]}
        probes = [value["httpGet"] for field, value in container.items() if field.endswith("Probe")]
        assert len(probes) == 3
        assert {probe["port"] for probe in probes} <= ports
    services = [obj for obj in objects if obj["kind"] == "Service"]
    for service in services:
        (pod,) = [pod for pod in pods if selected(pod, service["spec"]["selector"])]
        ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
        assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])
    monitors = [obj["spec"] for obj in objects if obj["kind"] == "ServiceMonitor"]
    assert len(monitors) == len(services) == len(pods) == 2
    for monitor in monitors:
        (service,) = [obj for obj in services if selected(obj, monitor["selector"]["matchLabels"])]
        (endpoint,) = monitor["endpoints"]
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    for budget in (obj["spec"]["selector"]["matchLabels"] for obj in objects if obj["kind"] == "PodDisruptionBudget"):
        assert len([pod for pod in pods if selected(pod, budget)]) == 1


def selected(obj: JsonObject, labels: dict[str, str]) -> bool:
    return labels.items() <= obj["metadata"]["labels"].items()


def test_the_commands_are_ones_that_the_program_takes(chart: Render) -> None:
    objects = chart(mode="both", plugins={"files": {"a.py": ""}, "load": ["a.py:A"]})
    extender, scheduler = (container["args"] for container in containers(objects))
    assert (extender[0], scheduler[0]) == ("extender", "scheduler")
    assert {arg.partition("=")[0] for arg in extender[1:]} <= {name for p in extender_command.params for name in p.opts}
    flags = [arg for arg in scheduler[1:] if not arg.startswith("--config=")]
    options = parse(flags, lambda specifications: ())
    assert options.plugins == ("/plugins/a.py:A",)


ALL_GROUP_GATES = {GENERIC_WORKLOAD, GANG_SCHEDULING, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION, WORKLOAD_CLAIMS}


@pytest.mark.parametrize(
    ("groups", "gates"),
    [
        ({}, set()),
        ({"enabled": True}, {GENERIC_WORKLOAD, GANG_SCHEDULING}),
        (
            {"enabled": True, "featureGates": [TOPOLOGY_AWARE, WORKLOAD_PREEMPTION, WORKLOAD_CLAIMS]},
            ALL_GROUP_GATES,
        ),
        ({"coscheduling": True}, {*COSCHEDULING_GATES}),
        ({"enabled": True, "coscheduling": True}, {*COSCHEDULING_GATES}),
    ],
)
def test_values_of_groups_turn_on_their_gates(chart: Render, groups: dict[str, Any], gates: set[str]) -> None:
    (container,) = containers(
        chart(scheduler={"groups": groups, "extraArgs": ["--feature-gates=DRADeviceTaintRules=true"]})
    )
    flags = [arg for arg in container["args"][1:] if not arg.startswith("--config=")]
    options = parse(flags, lambda specifications: ())
    assert {gate for gate in ALL_GROUP_GATES | {COSCHEDULING} if options.config.release.has(gate)} == gates
    assert options.gates["DRADeviceTaintRules"]


@pytest.mark.parametrize(
    ("plugins", "volume"),
    [
        ({"files": {"a.py": "class A: ..."}}, {"configMap": {"name": "demo-stowplan-plugins"}}),
        ({"existingConfigMap": "mine"}, {"configMap": {"name": "mine"}}),
        ({"layer": {"image": "racks:v1"}}, {"emptyDir": {}}),
        ({}, None),
    ],
)
def test_where_plugins_come_from(chart: Render, plugins: dict[str, Any], volume: dict[str, Any] | None) -> None:
    objects = chart(mode="both", plugins={**plugins, "load": ["a.py:A", "racks.care:Care"]})
    for spec in pod_specs(objects):
        volumes = {each.pop("name"): each for each in spec["volumes"]}
        assert volumes.get("plugins") == volume
        (container,) = spec["containers"]
        if container["name"] == "scheduler":
            assert {"--plugin=/plugins/a.py:A", "--plugin=racks.care:Care"} <= set(container["args"])
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert ("plugins" in mounts) == (volume is not None)
        assert [entry.plugin for entry in extender_config(objects).plugins] == ["/plugins/a.py:A", "racks.care:Care"]
        copied = [each["command"] for each in spec.get("initContainers", ())]
        assert copied == ([["cp", "-R", "/plugins/.", "/into"]] if "layer" in plugins else [])


def test_tls(chart: Render) -> None:
    assert extender_config(chart(mode="extender", plugins=LOADED)).serving.tls == TLS()
    tls = {"enabled": True, "existingSecret": "s", "clientCASecret": "c"}
    given = chart(mode="extender", extender={"tls": tls}, plugins=LOADED)
    (spec,) = pod_specs(given)
    mounts = {mount["mountPath"]: mount["name"] for mount in spec["containers"][0]["volumeMounts"]}
    configured = extender_config(given).serving.tls
    for path, volume in {configured.cert_file: "tls", configured.client_ca_file: "client-ca"}.items():
        assert mounts[path.rpartition("/")[0]] == volume
    assert {volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume} == {"s", "c"}
    kept = chart(mode="extender", extender={"tls": CERTIFIED}, plugins=LOADED)
    certificate = find(kept, "Certificate", "-extender")["spec"]
    assert f"demo-stowplan-extender.{NAMESPACE}.svc" in certificate["dnsNames"]
    (spec,) = pod_specs(kept)
    (secret,) = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
    assert secret["secretName"] == certificate["secretName"]


def test_a_budget_may_ask_for_none(chart: Render) -> None:
    spec = find(chart(scheduler={"podDisruptionBudget": {"minAvailable": 0}}), "PodDisruptionBudget", "")["spec"]
    assert (spec["minAvailable"], "maxUnavailable" in spec) == (0, False)


def test_nothing_runs_as_root_or_writes_to_the_image(chart: Render) -> None:
    objects = chart(mode="both", plugins={**LOADED, "layer": {"image": "racks:v1"}})
    for spec in pod_specs(objects):
        assert spec["securityContext"]["runAsUser"] == 65532
        for container in [*spec["containers"], *spec["initContainers"]]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"mode": "simulator"}, "/mode"),
        ({"scheduler": {"replica": 2}}, "additional properties 'replica' not allowed"),
        (
            {"scheduler": {"groups": {"enabled": True, "featureGates": ["AllAlpha"]}}},
            "/scheduler/groups/featureGates/0",
        ),
        ({"scheduler": {"groups": {"featureGates": [TOPOLOGY_AWARE]}}}, "these gates need scheduler.groups.enabled"),
        ({"plugins": {"load": ["Care"]}}, "/plugins/load/0"),
        (
            {"plugins": {"files": {"a.py": ""}, "existingConfigMap": "b"}},
            "files and existingConfigMap exclude each other",
        ),
        (
            {"mode": "extender", "plugins": LOADED, "extender": {"config": {"serving": {"port": 80}}}},
            "extender.config.serving.port: set extender.port",
        ),
        ({"mode": "extender"}, "an extender needs at least one plugin"),
        ({"mode": "extender", "extender": {"tls": {"enabled": True}}}, "needs existingSecret or certManager.enabled"),
        (
            {
                "mode": "extender",
                "extender": {"tls": {**CERTIFIED, "certManager": {"enabled": True}}},
                "plugins": LOADED,
            },
            "which issuer signs",
        ),
    ],
)
def test_invalid_values_are_rejected(refused: Refuse, values: dict[str, Any], complaint: str) -> None:
    assert complaint in refused(values)


def test_helm_has_nothing_against_it() -> None:
    done = run(binary("helm"), "lint", "--strict", DEPLOY / "chart")
    assert done.returncode == 0, done.stdout


def test_every_value_is_in_the_schema_and_the_version_is_ours() -> None:
    about = yaml.safe_load((DEPLOY / "chart" / "Chart.yaml").read_text())
    assert about["appVersion"] == __version__
    values = yaml.safe_load((DEPLOY / "chart" / "values.yaml").read_text())
    schema = yaml.safe_load((DEPLOY / "chart" / "values.schema.json").read_text())
    assert set(schema["properties"]) - {"global"} == set(values)
