"""The command `stowplan simulate`: placements for good input, one clear line for bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests import builders
from tests.builders import Json

from stowplan.cli.main import cli


def node_manifest(name: str, cpu: str = "4", **labels: str) -> Json:
    return {"kind": "Node", **builders.node(name, cpu, labels=labels)}


def pod_manifest(name: str = "p", cpu: str = "1", metadata: Json | None = None, **spec: Any) -> Json:
    made = builders.pod(name, requests={"cpu": cpu}, **spec)
    return {"kind": "Pod", "metadata": {"name": name, **(metadata or {})}, "spec": made["spec"]}


def workload(kind: str = "Deployment", name: str = "web", metadata: Json | None = None, **spec: Any) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {**pod_manifest()["spec"], **spec.pop("pod", {})}}
    spec = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"kind": kind, "metadata": {"name": name, **(metadata or {})}, "spec": spec}


def text(*documents: Json) -> str:
    return "\n---\n".join(json.dumps(document) for document in documents)


def run(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, ["simulate", *arguments], input=given)


def simulate(*documents: Json, options: tuple[str, ...] = (), status: int = 0) -> Json:
    result = run("-f", "-", "-o", "json", *options, given=text(*documents))
    assert result.exit_code == status, result.stderr or result.exception
    found: Json = json.loads(result.stdout)
    return found


NODES = (node_manifest("ant"), node_manifest("bee"), node_manifest("cow", cpu="1"))


def test_all_are_placed() -> None:
    found = simulate(*NODES, workload(replicas=3), pod_manifest(), pod_manifest("there", nodeName="cow"))
    assert found["summary"]["placed"] == 4
    assert {each["status"] for each in found["pods"]} == {"Placed", "Running"}
    assert found["pending"] == []


def test_some_wait() -> None:
    found = simulate(*NODES, pod_manifest("big", "9"), pod_manifest("gated", schedulingGates=[{"name": "g"}]), status=3)
    assert [each["status"] for each in found["pods"]] == ["Pending", "Gated"]
    assert found["pending"][0]["reasons"] == [{"reason": "Insufficient cpu", "nodes": ["ant", "bee", "cow"]}]
    assert found["pods"][0]["decision"]["message"] == found["pods"][0]["message"]


@pytest.mark.parametrize("waiting", [pod_manifest(schedulingGates=[{"name": "g"}]), pod_manifest(schedulerName="x")])
def test_a_gated_or_foreign_pod_is_pending(waiting: Json) -> None:
    simulate(*NODES, waiting, status=3)


def test_the_table() -> None:
    result = run(
        "-f", "-", given=text(*NODES, pod_manifest(), {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1"})
    )
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "NAMESPACE  POD  STATUS  NODE  ATTEMPTS"
    assert result.stdout.splitlines()[-1].startswith("1 placed, 0 pending; 1 of 3 nodes used.")
    assert "\x1b" not in result.stdout
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())
    assert result.stderr == "stowplan: not simulated: 1 Ingress\n"


def test_unknown_kinds_are_counted_by_name() -> None:
    unknown = [{"kind": "Ingress"}, {"kind": "ConfigMap"}, {"kind": "ConfigMap"}]
    result = run("-f", "-", "-o", "json", given=text(*NODES, *unknown))
    assert result.stderr == "stowplan: not simulated: 2 ConfigMap, 1 Ingress\n"
    assert json.loads(result.stdout)["unknownKinds"] == {"ConfigMap": 2, "Ingress": 1}


def test_wide_and_yaml() -> None:
    given = text(*NODES, pod_manifest())
    wide = run("-f", "-", "-o", "wide", given=given)
    assert "RUNNER-UP" in wide.stdout
    assert "\nNODE  PODS  CPU" in wide.stdout
    assert yaml.safe_load(run("-f", "-", "-o", "yaml", given=given).stdout) == simulate(*NODES, pod_manifest())


def test_many_pods_are_told_of_by_workload_unless_all_are_wanted() -> None:
    given = text(*(node_manifest(f"n{i}", "32") for i in range(3)), workload(replicas=51))
    assert "Deployment/web    51" in run("-f", "-", given=given).stdout
    assert run("-f", "-", "--all", given=given).stdout.count("\ndefault    web-") == 51


def test_scores_of_many_nodes() -> None:
    nodes = [node_manifest(f"n{i}") for i in range(101)]
    brief = simulate(*nodes, pod_manifest())["pods"][0]
    whole = simulate(*nodes, pod_manifest(), options=("--all-scores",))["pods"][0]
    assert (len(brief["decision"]["scores"]), len(whole["decision"]["scores"])) == (10, 101)
    assert brief["node"] == whole["node"]
    assert brief["feasibleNodes"] == 101


def test_files_folders_and_standard_input_together(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(node_manifest("ant")))
    (folder / "b.yml").write_text(yaml.safe_dump_all([node_manifest("bee"), pod_manifest("p")]))
    (folder / "notes.txt").write_text("not a manifest")
    (tmp_path / "list.yaml").write_text(
        yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": [pod_manifest("q")]})
    )
    files = str(folder), str(tmp_path / "list.yaml"), "-"
    for arguments in (files, [part for file in files for part in ("-f", file)], (files[0], "-f", *files[1:])):
        result = run(*arguments, "-o", "json", given=text(pod_manifest("r")))
        assert [each["pod"] for each in json.loads(result.stdout)["pods"]] == ["default/p", "default/q", "default/r"]


def test_the_seed_breaks_ties() -> None:
    nodes = [node_manifest(f"n{i}") for i in range(20)]
    chosen = {simulate(*nodes, pod_manifest(), options=("--seed", str(seed)))["pods"][0]["node"] for seed in range(8)}
    assert len(chosen) > 1


def test_preemption() -> None:
    vip = {"kind": "PriorityClass", "metadata": {"name": "vip"}, "value": 10}
    found = simulate(
        node_manifest("ant"),
        vip,
        pod_manifest("low", "3", nodeName="ant"),
        pod_manifest("high", "3", priorityClassName="vip"),
    )
    assert found["preemptions"][0]["victim"] == "default/low"
    assert found["summary"]["evicted"] == 1


CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
                }
            ],
        }
    ],
}


def test_a_configuration_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(CONFIG))
    documents = (
        node_manifest("ant", "4"),
        node_manifest("bee", "4"),
        pod_manifest("there", "2", nodeName="ant"),
        pod_manifest(),
    )
    assert simulate(*documents)["pods"][0]["node"] == "bee"
    assert simulate(*documents, options=("--config", str(file)))["pods"][0]["node"] == "ant"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"kind": "Other"}, "$.kind: Invalid value"),
        ({**CONFIG, "extenders": [{"urlPrefix": "http://x", "weight": -1, "prioritizeVerb": "p"}]}, "$.extenders"),
    ],
)
def test_a_configuration_that_will_not_do(config: Json, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    result = run("-f", "-", "--config", str(file), given=text(*NODES))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"stowplan: {file}: {problem}" in result.stderr


PLUGIN = """
from stowplan import Plugin, reject

class Picky(Plugin):
    name = "Picky"
    scope = "node"
    def filter(self, state, pod, node):
        return None if node.labels.get("color") == "blue" else reject("node_manifest(s) were not blue")

class Reader(Plugin):
    name = "Reader"
    needs_objects = True
    def filter(self, state, pod, node):
        wanted = pod.object["spec"]["hostname"]
        return None if node.object["spec"]["providerID"] == wanted else reject("node_manifest(s) had another id")
"""


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(PLUGIN)
    return str(tmp_path / "mine.py")


def test_a_plugin_of_ones_own(plugin: str) -> None:
    documents = (node_manifest("ant", color="red"), node_manifest("bee", color="blue"), workload(replicas=2))
    found = simulate(*documents, options=("--plugin", f"{plugin}:Picky"))
    assert [each["node"] for each in found["pods"]] == ["bee", "bee"]
    found = simulate(documents[0], documents[2], options=("--plugin", f"{plugin}:Picky"), status=3)
    assert found["pending"][0]["reasons"] == [{"reason": "node_manifest(s) were not blue", "nodes": ["ant"]}]


@pytest.mark.parametrize("given", [pod_manifest(hostname="two"), workload(replicas=1, pod={"hostname": "two"})])
def test_a_plugin_that_reads_whole_objects(given: Json, plugin: str) -> None:
    nodes = [
        {**node_manifest(name), "spec": {"providerID": identity}} for name, identity in (("ant", "one"), ("bee", "two"))
    ]
    found = simulate(*nodes, given, options=("--plugin", f"{plugin}:Reader"))
    assert found["pods"][0]["node"] == "bee"


REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nobodys"}}]}
BAD: list[tuple[str | bytes, str]] = [
    (b"", "<stdin>: empty: it contains no object"),
    (b"\x00\xff\xfe\x7fELF", "<stdin>: not UTF-8 text"),
    ("a: [", "<stdin>: malformed YAML: line 2, column 1: did not find"),
    ('{"kind": "Pod", ', "<stdin>: malformed JSON: line 1, column 17"),
    ("just text", "<stdin>: $: Expected `object`, got `str`"),
    ("metadata: {name: p}", "<stdin>: $.kind: required"),
    (text(pod_manifest(5)), "<stdin>: $.metadata.name: Expected `str`, got `int`"),
    (text(pod_manifest(containers={})), "<stdin>: $.spec.containers: Expected `array`, got `object`"),
    (text(pod_manifest(cpu="lots")), "<stdin>: $.spec.containers[0].resources.requests"),
    (
        text(node_manifest("ant"), pod_manifest(), pod_manifest()),
        '<stdin>[2]: $.metadata.name: duplicate Pod "default/p", first in <stdin>[1]',
    ),
    (
        text(
            workload("ReplicaSet", "a", {"ownerReferences": [{**REPLICA_SET, "name": "b"}]}),
            workload("ReplicaSet", "b", {"ownerReferences": [{**REPLICA_SET, "name": "a"}]}),
        ),
        "<stdin>[0]: $.metadata.ownerReferences: cycle: ReplicaSet default/a -> ReplicaSet default/b",
    ),
    (text(workload("DaemonSet", "d")), "<stdin>: $: DaemonSet default/d has a pod for each node, and the input has no"),
    (text(workload(replicas=1_000_000)), "<stdin>: $.spec.replicas: 1000000 pods, and no more than 200000"),
    (
        text(pod_manifest(hostNetwrk=True)),
        '<stdin>: Pod default/p: strict decoding error: unknown field "spec.hostNetwrk" (did you mean "hostNetwork"?)',
    ),
]
LACKING: list[tuple[Json, str, Json]] = [
    (
        pod_manifest(metadata={"ownerReferences": [{**REPLICA_SET, "name": "gone"}]}),
        '<stdin>[1]: $.metadata.ownerReferences[0]: Pod default/p is controlled by ReplicaSet "gone", which is not in',
        {"kind": "ReplicaSet", "objects": ["default/gone"], "assumption": "it recreates pods that are evicted"},
    ),
    (
        pod_manifest(**CLAIM),
        "<stdin>[1]: $.spec.volumes[0].persistentVolumeClaim.claimName: Pod default/p needs",
        {
            "kind": "PersistentVolumeClaim",
            "objects": ["default/nobodys"],
            "assumption": "bound to a volume that every node can use",
        },
    ),
    (
        workload(pod={"priorityClassName": "x"}),
        "<stdin>[1]: $.spec.template.spec.priorityClassName: no PriorityClass",
        {"kind": "PriorityClass", "objects": ["x"], "assumption": "value 0"},
    ),
]


@pytest.mark.parametrize(("given", "line", "assumption"), LACKING, ids=[line[:60] for _, line, _ in LACKING])
def test_what_is_lacking_is_assumed_or_refused(given: Json, line: str, assumption: Json) -> None:
    found = simulate(node_manifest("ant"), given)
    assert found["assumptions"] == [assumption]
    assert found["summary"]["placed"] == 1
    table = run("-f", "-", given=text(node_manifest("ant"), given)).stdout
    assert table.count(f"  {assumption['kind']} {assumption['objects'][0]}: {assumption['assumption']}\n") == 1
    result = run("-f", "-", "--strict", given=text(node_manifest("ant"), given))
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = result.stderr.splitlines()
    assert message.startswith(f"stowplan: {line}")


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", "Job", "RayCluster"])
def test_evicted_pods_of_a_missing_controller_come_back(kind: str) -> None:
    owner = {"apiVersion": "x/v1", "kind": kind, "name": "web", "uid": "u", "controller": True}
    found = simulate(
        node_manifest("ant"),
        pod_manifest("web-0", "3", {"ownerReferences": [owner]}, nodeName="ant", priority=0),
        pod_manifest("high", "3", priority=10),
        status=3,
    )
    (eviction,) = found["preemptions"]
    assert eviction["outcome"] == f"recreated by {kind}/web, 1 of its pods pending"
    (pending,) = found["pending"]
    assert pending["workload"] == f"{kind}/web"
    assert [each["kind"] for each in found["assumptions"]] == [kind]


def test_evicted_pods_of_a_node_do_not_come_back() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "ant", "uid": "u", "controller": True}
    mirror = pod_manifest("mirror", "3", {"ownerReferences": [owner]}, nodeName="ant", priority=0)
    found = simulate(node_manifest("ant"), mirror, pod_manifest("high", "3", priority=10))
    assert found["preemptions"][0]["outcome"] == "not recreated: Node/ant is not simulated"
    assert found["assumptions"] == []


@pytest.mark.parametrize(("given", "line"), BAD, ids=[line[:60] for _, line in BAD])
def test_bad_input_is_one_clear_line(given: str | bytes, line: str) -> None:
    result = run("-f", "-", given=given)
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = result.stderr.splitlines()
    assert message.startswith(f"stowplan: {line}")


def test_bad_files(tmp_path: Path) -> None:
    for name, line in {".": "no manifests in this folder", "missing.yaml": "No such file or directory"}.items():
        result = run("-f", str(tmp_path / name))
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"stowplan: {tmp_path / name}: {line}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing manifests (FILE), --from-cluster or --sample."),
        (("-f", "-", "--kubeconfig", "x"), "--kubeconfig and --context need --from-cluster."),
        (("-f", "-", "--context", "x"), "--kubeconfig and --context need --from-cluster."),
    ],
)
def test_something_to_simulate_is_required(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_sample_is_placed_and_can_be_found() -> None:
    result = run("--sample", "-n", "shop", "-o", "json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert {pod["pod"].partition("/")[0] for pod in report["pods"]} == {"shop"}
    assert report["pending"] == []
    assert (Path(result.stderr.removeprefix("stowplan: the sample is in ").rstrip()) / "cluster.yaml").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no kubeconfig: none given, none in $KUBECONFIG, no ~/.kube/config, and not in a pod"),
        (("--kubeconfig", "missing"), "kubeconfig missing: No such file or directory"),
        (("--kubeconfig", "config", "--context", "x"), 'kubeconfig config: --context: there is no context "x"'),
    ],
)
def test_a_cluster_that_nobody_can_find(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").write_text("{}")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    result = run("--from-cluster", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"stowplan: {message}\n")


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml"])
def test_the_same_input_gives_the_same_output(output: str, tmp_path: Path) -> None:
    """Byte for byte, whatever order sets happen to be in."""
    vip = {"kind": "PriorityClass", "metadata": {"name": "vip"}, "value": 10}
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    file = tmp_path / "all.json"
    nodes = [node_manifest(f"n{i}", zone=f"z{i % 3}") for i in range(6)]
    pods = {"topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}]}
    items = [*nodes, vip, workload(replicas=22, pod=pods), workload("Job", "vip", pod={"priorityClassName": "vip"})]
    items += [
        pod_manifest("big", "9"),
        *(pod_manifest(f"low-{i}", nodeName="n1") for i in range(4)),
        {"kind": "Secret"},
        {"kind": "Foo"},
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    command = [sys.executable, "-m", "stowplan", "simulate", "-f", str(file), "-o", output]
    results = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False)
        for seed in ("1", "2")
    ]
    assert results[0].returncode == results[1].returncode == 3
    assert results[0].stdout == results[1].stdout
    assert results[0].stderr == results[1].stderr


# What changes the pods of workloads
def test_pods_over_quota_are_listed_and_the_status_is_three() -> None:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1", "services": "2"}}}
    found = simulate(*NODES, quota, workload(replicas=3), status=3)
    (refused,) = found["notCreated"]
    assert (refused["workload"], refused["pods"]) == ("default/Deployment/web", 2)
    assert refused["message"].endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
    table = run("-f", "-", given=text(*NODES, quota, workload(replicas=3))).stdout
    assert "Not created\n2 pods of default/Deployment/web:\n  pods " in table
    assert "Assumed\n  ResourceQuota default/q: services is not enforced\n" in table


@pytest.mark.parametrize(("mode", "placed"), [("min", 2), ("current", 3), ("max", 5)])
def test_autoscalers(mode: str, placed: int) -> None:
    target = {"kind": "Deployment", "name": "web"}
    bounds = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5}
    autoscaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": bounds}
    found = simulate(*NODES, autoscaler, workload(replicas=3), options=("--hpa", mode))
    assert found["summary"]["placed"] == placed


def test_overlays(tmp_path: Path) -> None:
    for name, documents in {"base": (*NODES, workload(replicas=2)), "more": (workload(replicas=4),)}.items():
        (tmp_path / f"{name}.yaml").write_text(text(*documents))
    result = run("-f", str(tmp_path / "base.yaml"), "-f", str(tmp_path / "more.yaml"), "-o", "json")
    assert json.loads(result.stdout)["summary"]["placed"] == 4


def test_a_file_may_be_too_large(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(" " * (2**20 + 1))
    result = run("-f", str(tmp_path / "f.yaml"), "--max-input-size", "1")
    assert (result.exit_code, result.stderr) == (
        2,
        f"stowplan: {tmp_path / 'f.yaml'}: larger than the allowed 1,048,576 bytes\n",
    )


GANG = (
    {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 9}}}},
    *(pod_manifest(f"m{number}", schedulingGroup={"podGroupName": "g"}) for number in range(9)),
)


def test_feature_gates_are_those_of_the_option() -> None:
    """The gang of nine does not fit on the nodes: no member is placed. Without gangs, eight are."""
    assert simulate(*NODES[:2], *GANG, status=3)["summary"]["placed"] == 0
    on = ("--feature-gates", "GenericWorkload=true,GangScheduling=true")
    assert simulate(*NODES[:2], *GANG, options=on, status=3)["summary"]["placed"] == 0
    off = ("--feature-gates", "GenericWorkload=false", "--feature-gates", "GangScheduling=false")
    assert simulate(*NODES[:2], *GANG, options=off, status=3)["summary"]["placed"] == 8


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        ("GangScheduling", "missing bool value for GangScheduling"),
        ("GangScheduling=maybe", "invalid value of GangScheduling=maybe"),
        ("GangScheduling=true", "depends on features that are disabled: [GenericWorkload]"),
    ],
)
def test_feature_gates_that_cannot_be_set(given: str, expected: str) -> None:
    result = run("-f", "-", "--feature-gates", given, given=text(*NODES))
    assert result.exit_code == 2
    assert expected in " ".join(result.stderr.split())
    assert "--feature-gates" in result.stderr
