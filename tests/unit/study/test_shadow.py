from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan import api
from stowplan.cli.main import cli
from stowplan.cli.replay import _Clock, _ShadowSink
from stowplan.config import default_configuration
from stowplan.errors import InputError
from stowplan.plugins.registry import REGISTRY
from stowplan.study.binding_order import BindingOrder
from stowplan.study.shadow import Shadow
from stowplan.traces.cluster_recording import ClusterRecording, RecordingWriter

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = (
    "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, "
    "resources: [{name: cpu, weight: 1}]}}}]}]\n"
)


def made(name: str, on: str = "", cpu: str = "1") -> Any:
    return pod(name, on, uid=name, namespace="default", requests={"cpu": cpu})


def sized(name: str, on: str, requests: dict[str, str]) -> Any:
    return pod(name, on, uid=name, namespace="default", requests=requests)


def write(file: Path, *, max_bytes: int = 2**20) -> RecordingWriter:
    """Two nodes; n1 has a pod of 2 cores. A pod of 1 core is bound to n2, then one of 8 to n1, which is too small."""
    times = iter(range(100, 200))
    writer = RecordingWriter(file, "test", lambda: float(next(times)), max_bytes)
    writer.put(api.KINDS["Node"], [(node("n1"), None), (node("n2"), None)])
    writer.put(api.KINDS["Pod"], [(made("old", "n1", "2"), None)])
    writer.listed()
    for name, target, cpu in (("a", "n2", "1"), ("b", "n1", "8")):
        writer.put(api.KINDS["Pod"], [(made(name, "", cpu), None)])
        writer.put(api.KINDS["Pod"], [(made(name, target, cpu), None)])
    writer.removed(api.KINDS["Pod"], [made("a", "n2")])
    writer.close()
    return writer


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *args])


def test_a_recording_is_replayed_with_the_same_and_another_configuration(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"
    assert write(file).changes == 8
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "packed.yaml").write_text(CONFIG + PACKED)
    same = call(str(file))
    assert same.exit_code == 0, same.output
    assert same.stdout.splitlines()[0] == "2 bound pods: 1 same, 1 waits"
    packed = json.loads(call(str(file), "--config", str(tmp_path / "packed.yaml"), "-o", "json").stdout)
    assert packed["verdicts"] == {"elsewhere": 1, "waits": 1}
    first = packed["differences"][0]
    assert (first["pod"], first["bound"], first["chosen"]) == ("default/a", "n2", "n1")
    assert first["points"] > 0
    assert call(str(file), "--exit-code").exit_code == 1


def test_a_recording_is_replayed_by_the_rules_of_its_release(tmp_path: Path) -> None:
    """Since 1.36 the improvement of a node's balance counts; before, the balance itself."""

    def replayed(release: str, *options: str) -> dict[str, int]:
        file = tmp_path / "r.gz"
        writer = RecordingWriter(file, "test", lambda: 0.0, 2**20, release)
        writer.put(api.KINDS["Node"], [(node(name, "8", memory="16Gi"), None) for name in ("n1", "n2")])
        old = [("a", "n1", {"cpu": "4"}), ("b", "n2", {"cpu": "2", "memory": "4Gi"})]
        writer.put(api.KINDS["Pod"], [(sized(name, on, amounts), None) for name, on, amounts in old])
        writer.listed()
        for on in ("", "n2"):
            writer.put(api.KINDS["Pod"], [(sized("new", on, {"cpu": "100m", "memory": "2Gi"}), None)])
        writer.close()
        verdicts: dict[str, int] = json.loads(call(str(file), "-o", "json", *options).stdout)["verdicts"]
        return verdicts

    assert replayed("1.35") == {"same": 1}
    assert replayed("") == replayed("1.36") == {"elsewhere": 1}
    assert replayed("1.35", "--emulated-version", "1.36") == {"elsewhere": 1}


def test_a_release_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"
    RecordingWriter(file, "test", lambda: 0.0, 2**20, "latest").close()
    found = call(str(file))
    assert found.exit_code == 2
    assert found.stderr.startswith(f"stowplan: {file}: $.release: ")
    assert found.stderr.count("\n") == 1


def test_a_recording_that_is_cut_is_replayed_up_to_there(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"
    write(file)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) - 20])
    found = call(str(file))
    assert found.exit_code == 0
    assert "the recording is not complete" in found.stderr


def test_the_size_is_bounded(tmp_path: Path) -> None:
    writer = write(tmp_path / "r.gz", max_bytes=1)
    assert writer.full
    assert writer.changes == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b"{}\n"), gzip.compress(b'{"kind":"X","version":1}\n')],
    ids=["empty", "text", "no-kind", "other-kind"],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "r.gz"
    file.write_bytes(content)
    with pytest.raises(InputError):
        ClusterRecording(file)
    assert call(str(file)).exit_code == 2
    assert len(call(str(file)).stderr.splitlines()) == 1


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.gz"
    file.write_bytes(gzip.compress(b'{"kind":"StowplanRecording","version":9}\n'))
    with pytest.raises(InputError, match="a recording of version 9"):
        ClusterRecording(file)


def test_a_full_disk_is_one_line() -> None:
    with pytest.raises(InputError, match="No space left on device"):
        write_much()


def write_much() -> None:
    writer = RecordingWriter(Path("/dev/full"), "test", lambda: 0.0, 2**30)
    try:
        for number in range(5000):
            writer.put(api.KINDS["Pod"], [(made(f"pod-{number}-{hash(str(number))}"), None)])
    finally:
        writer.close()


def test_usage() -> None:
    assert call().exit_code == 2
    assert call("x", "--from-cluster").exit_code == 2


def test_bindings_are_put_into_the_order_of_the_queue(tmp_path: Path) -> None:
    """Decided in the order urgent, a, b; bound in the order b, a, urgent. A pod that was refused is behind."""
    refused = replace(
        made("refused"),
        status=api.PodStatus(conditions=(api.Condition(type="PodScheduled", status="False", reason="Unschedulable"),)),
    )
    urgent = made("urgent")
    urgent = replace(urgent, spec=replace(urgent.spec, priority=10))
    later = made("later")
    steps = [made("refused"), made("a"), made("b"), urgent, refused]
    steps += [made("b", "n2"), made("a", "n1"), replace(urgent, spec=replace(urgent.spec, node_name="n1"))]
    steps += [later, made("later", "n1"), made("refused", "n2")]
    file = tmp_path / "r.gz"
    times = iter(range(1000))
    writer = RecordingWriter(file, "test", lambda: next(times) / 10, 2**20)
    for step in steps:
        writer.put(api.KINDS["Pod"], [(step, None)])
    writer.put(api.KINDS["Pod"], [(made("a", "n1"), None)])
    writer.removed(api.KINDS["Pod"], [made("a", "n1")])
    writer.close()
    found = list(BindingOrder(ClusterRecording(file).changes()))
    order = [item.metadata.name for change, item in found if item.spec.node_name and not change.removed]
    assert order == ["urgent", "a", "b", "refused", "later", "a"]
    assert [change.time for change, _ in found] == sorted(change.time for change, _ in found)
    assert len(found) == 13
    unmoved = BindingOrder(ClusterRecording(file).changes(), window=0.0)
    order = [item.metadata.name for change, item in unmoved if item.spec.node_name and not change.removed]
    assert order == ["b", "a", "urgent", "later", "refused", "a"]


def test_pods_wait_until_all_kinds_are_listed(tmp_path: Path) -> None:
    """The kinds are listed in parallel: a pod is created and bound before the recorder has listed the nodes."""
    file = tmp_path / "r.gz"
    times = iter(range(1000))
    writer = RecordingWriter(file, "test", lambda: float(next(times)), 2**20)
    for pods in (made("a"), made("a", "n2")):
        writer.put(api.KINDS["Pod"], [(pods, None)])
    writer.put(api.KINDS["Node"], [(node("n1"), None), (node("n2"), None)])
    writer.listed()
    for pods in (made("b"), made("b", "n1")):
        writer.put(api.KINDS["Pod"], [(pods, None)])
    writer.close()
    found = json.loads(call(str(file), "-o", "json").stdout)
    assert found["bound"] == 2
    assert set(found["verdicts"]) <= {"same", "tie"}


def test_a_shadow_of_a_live_cluster_waits_for_all_kinds() -> None:
    clock = _Clock()
    shadow = Shadow(default_configuration(), REGISTRY, clock)
    sink = _ShadowSink(shadow, clock)
    sink.put(api.KINDS["Pod"], [(made("gone"), None)])
    sink.removed(api.KINDS["Pod"], [made("gone")])
    for pods in (made("a"), made("a", "n2")):
        sink.put(api.KINDS["Pod"], [(pods, None)])
    sink.put(api.KINDS["Node"], [(node("n1"), None), (node("n2"), None)])
    assert not shadow.counts
    sink.listed()
    assert sum(shadow.counts.values()) == 1
    assert set(shadow.counts) <= {"same", "tie"}
    assert not shadow.decisions
