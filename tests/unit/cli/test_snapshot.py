"""Snapshots: written by one command, read by all."""

import gzip
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stowplan import Cluster
from stowplan.cli.main import cli

NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "ant", "labels": {"zone": "a"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}},
}


def pod(name: str, cpu: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    secret = {"name": "PASSWORD", "value": "hush-hush"}
    containers = [{"name": "c", "image": "app", "resources": resources, "env": [secret], "args": ["--key=hush-hush"]}]
    metadata = {"name": name, "annotations": {"note": "hush-hush", "gpu": "yes"}}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": containers}}


WORKLOAD = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", "1")["spec"]},
    },
}


TIMES = ("asOf", "took", "queue", "history")


def run(*args: str) -> Any:
    return CliRunner().invoke(cli, args)


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    path = tmp_path / "m.yaml"
    path.write_text("\n---\n".join(map(json.dumps, (NODE, WORKLOAD, pod("large", "9")))))
    return str(path)


@pytest.fixture
def taken(manifests: str, tmp_path: Path) -> str:
    file = str(tmp_path / "cluster.json")
    result = run("snapshot", file, "-f", manifests)
    assert result.exit_code == 0, result.output
    return file


def test_a_snapshot_holds_what_scheduling_reads_for_its_owner_only(taken: str) -> None:
    text = Path(taken).read_text()
    assert stat.S_IMODE(Path(taken).stat().st_mode) == 0o600
    assert "hush-hush" not in text
    assert "PASSWORD" not in text
    found = json.loads(text)
    assert (found["kind"], found["version"]) == ("StowplanSnapshot", 1)
    assert {"Node", "Pod", "Deployment"} <= found["objects"].keys()
    placed = [each["spec"].get("nodeName") for each in found["objects"]["Pod"]]
    assert sorted(placed, key=str) == [None, "ant", "ant"]


def test_annotations_are_kept_on_request(manifests: str, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    assert run("snapshot", str(file), "-f", manifests, "--keep-annotation", "gpu").exit_code == 0
    pods = json.loads(file.read_text())["objects"]["Pod"]
    assert {"gpu": "yes"} in [each["metadata"].get("annotations") for each in pods]


def test_explanations_of_a_snapshot_equal_those_of_its_manifests(manifests: str, taken: str) -> None:
    def explained(*source: str) -> Any:
        result = run("explain", "large", *source, "-o", "json")
        assert result.exit_code == 3, result.output
        return {name: value for name, value in json.loads(result.stdout).items() if name not in TIMES}

    assert explained("--from", taken) == explained("-f", manifests)
    assert json.loads(run("explain", "large", "--from", taken, "-o", "json").stdout)["asOf"]["source"].endswith(taken)


def test_manifests_are_applied_to_a_snapshot(taken: str, tmp_path: Path) -> None:
    other = tmp_path / "node.yaml"
    other.write_text(json.dumps({**NODE, "metadata": {"name": "bee"}, "status": {"allocatable": {"cpu": "16"}}}))
    other.write_text(other.read_text().replace('"cpu": "16"', '"cpu": "16", "memory": "1Gi", "pods": "9"'))
    assert run("explain", "large", "--base", taken).exit_code == 3
    assert run("explain", "large", "--base", taken, "-f", str(other)).exit_code == 0
    result = run("simulate", taken, str(other))
    assert result.exit_code == 0
    assert "large" in result.stdout
    assert run("simulate", "--from", taken).exit_code == 3


def test_a_snapshot_of_a_snapshot_is_the_same(taken: str, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    assert run("snapshot", str(again), "--from", taken).exit_code == 0
    first, second = (json.loads(Path(file).read_text()) for file in (taken, again))
    assert first["objects"] == second["objects"]
    assert first["takenAt"] == second["takenAt"]


TAINTED = {**NODE, "spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}
TEXTS = {"1.33": "untolerated taint {dedicated: gpu}", "1.36": "untolerated taint(s)"}


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A snapshot of release 1.33, whose messages name taints."""
    manifest, file = tmp_path / "tainted.yaml", tmp_path / "old.json"
    manifest.write_text("\n---\n".join(map(json.dumps, (TAINTED, pod("p", "1")))))
    assert run("snapshot", str(file), "-f", str(manifest), "--emulated-version", "1.33").exit_code == 0
    return str(file)


@pytest.mark.parametrize(
    ("command", "release"),
    [
        (("simulate", "--from"), "1.33"),
        (("simulate",), "1.33"),
        (("simulate", "--emulated-version", "1.36", "--from"), "1.36"),
        (("explain", "p", "-o", "json", "--from"), "1.33"),
        (("explain", "p", "-o", "json", "--base"), "1.33"),
    ],
)
@pytest.mark.parametrize("form", ["plain", "compressed", "indented"])
def test_answers_about_a_snapshot_follow_its_release(
    command: tuple[str, ...], release: str, form: str, old: str
) -> None:
    content = Path(old).read_bytes()
    if form == "compressed":
        Path(old).write_bytes(gzip.compress(content))
    elif form == "indented" and command[-1] == "--from":
        Path(old).write_text(json.dumps(json.loads(content), indent=2))
    result = run(*command, old)
    assert [version for version, text in TEXTS.items() if text in result.stdout] == [release], result.output


def test_the_library_and_further_snapshots_keep_the_release(old: str, tmp_path: Path) -> None:
    assert TEXTS["1.33"] in Cluster.from_snapshot(old).simulate().pending[0].message
    again = tmp_path / "again.json"
    assert run("snapshot", str(again), "--from", old, "--anonymize").exit_code == 0
    assert json.loads(again.read_text())["release"] == "1.33"


def test_a_snapshot_without_a_release_has_the_rules_of_the_latest(old: str) -> None:
    Path(old).write_bytes(Path(old).read_bytes().replace(b'"release":"1.33",', b"", 1))
    assert TEXTS["1.36"] in run("simulate", "--from", old).stdout


@pytest.mark.parametrize("options", [("s.json.gz",), ("s.json", "--compress")])
def test_compressed(options: tuple[str, ...], manifests: str, tmp_path: Path) -> None:
    file = tmp_path / options[0]
    assert run("snapshot", str(file), *options[1:], "-f", manifests).exit_code == 0
    assert json.loads(gzip.decompress(file.read_bytes()))["version"] == 1
    assert run("explain", "large", "--from", str(file)).exit_code == 3


def test_anonymized(manifests: str, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    assert run("snapshot", str(file), "-f", manifests, "--anonymize").exit_code == 0
    text = file.read_text()
    assert not any(f'"{name}"' in text for name in ("web", "large", "ant", "app:latest", "a"))
    found = json.loads(text)
    assert found["anonymized"]
    (pending,) = [each["metadata"]["name"] for each in found["objects"]["Pod"] if not each["spec"].get("nodeName")]
    result = run("explain", pending, "--from", str(file), "-o", "json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["sentence"] == explained_sentence(manifests)


def test_anonymized_groups_of_coscheduling(tmp_path: Path) -> None:
    """The label of a member still names its PodGroup."""
    manifest = tmp_path / "gang.yaml"
    metadata = "{name: train-%d, namespace: default, labels: {scheduling.x-k8s.io/pod-group: train}}"
    pods = [f"apiVersion: v1\nkind: Pod\nmetadata: {metadata % i}\nspec: {{containers: [{{name: c}}]}}" for i in (0, 1)]
    group = "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: train, namespace: default}\n"
    manifest.write_text("\n---\n".join([*pods, f"{group}spec: {{minMember: 2}}"]))
    file = tmp_path / "s.json"
    assert run("snapshot", str(file), "-f", str(manifest), "--anonymize").exit_code == 0
    assert "train" not in file.read_text()
    objects = json.loads(file.read_text())["objects"]
    (made,) = objects["CoschedulingPodGroup"]
    assert made["metadata"]["name"].startswith("group-")
    assert {each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for each in objects["Pod"]} == {
        made["metadata"]["name"]
    }


def explained_sentence(manifests: str) -> Any:
    return json.loads(run("explain", "large", "-f", manifests, "-o", "json").stdout)["sentence"]


def test_pods_of_an_anonymized_snapshot_belong_to_their_deployments(manifests: str, tmp_path: Path) -> None:
    text = Path(manifests).read_text().replace('"replicas": 2', '"replicas": 9')
    Path(manifests).write_text(text)
    file = tmp_path / "anonymous.json"
    assert run("snapshot", str(file), "-f", manifests, "--anonymize").exit_code == 0
    result = run("explain", "--from", str(file))
    assert "Deployment/" in result.output
    assert "ReplicaSet/" not in result.output


def test_annotations_of_an_anonymized_snapshot_cannot_be_kept(manifests: str, tmp_path: Path) -> None:
    options = ("-f", manifests, "--anonymize", "--keep-annotation", "x")
    assert run("snapshot", str(tmp_path / "s.json"), *options).exit_code == 2


def newer(content: bytes) -> bytes:
    return content.replace(b'"version":1', b'"version":2', 1)


BAD = {
    "newer": (newer, "a snapshot of version 2, written by stowplan"),
    "truncated": (lambda content: content[: len(content) // 2], "the snapshot is truncated or damaged"),
    "truncated-gz": (lambda content: gzip.compress(content)[:-20], "the compressed snapshot is truncated"),
    "damaged-gz": (lambda content: gzip.compress(content)[:2] + b"\0" * 50, "the compressed snapshot is damaged"),
    "kind": (lambda content: content.replace(b'"Node":', b'"Nodule":'), "$.objects: unknown kind 'Nodule'"),
    "type": (lambda content: content.replace(b'"name":"ant"', b'"name":7', 1), "$.objects.Node[0].metadata.name"),
    "manifests": (lambda content: b'{"kind":"Pod"}', "not a snapshot; manifests are given with -f"),
    "time": (lambda content: content.replace(b'"takenAt":"', b'"takenAt":"x', 1), "$.takenAt: not a time"),
    "release": (lambda content: content.replace(b'"release":"', b'"release":"x', 1), "$.release: could not parse"),
    "empty": (lambda content: b"", "not a snapshot"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_snapshot_is_one_line(case: str, taken: str, tmp_path: Path) -> None:
    change, message = BAD[case]
    file = tmp_path / "bad.json"
    file.write_bytes(change(Path(taken).read_bytes()))
    result = run("explain", "large", "--from", str(file))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"stowplan: {file}: ")
    assert message in line


def test_a_folder_that_cannot_be_written_is_one_line(manifests: str, tmp_path: Path) -> None:
    result = run("snapshot", str(tmp_path / "none" / "s.json"), "-f", manifests)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("s.json: No such file or directory")
