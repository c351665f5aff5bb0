import subprocess
import sys
from typing import Any

import pytest

from stowplan.api import Node, ObjectMeta, Pod, codec
from stowplan.errors import StowplanError

POD = b"""{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "web", "labels": {"app": "web"}, "managedFields": [{"manager": "kubectl"}]},
  "spec": {"containers": [{"name": "c", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}],
                           "resources": {"requests": {"cpu": "100m", "memory": 1024, "x.io/y": 0.5}}}],
           "priority": 7}
}"""


def test_decode_reads_what_structs_name_and_skips_the_rest() -> None:
    pod = codec.decode(Pod, POD)
    container = pod.spec.containers[0]
    assert (pod.metadata.name, pod.metadata.labels, pod.spec.priority) == ("web", {"app": "web"}, 7)
    assert (container.ports[0].host_port, container.ports[0].host_ip) == (80, "10.0.0.1")
    assert container.resources.requests == {"cpu": "100m", "memory": 1024, "x.io/y": 0.5}


def test_text_bytes_and_plain_values_decode_alike() -> None:
    assert codec.decode(Pod, POD) == codec.decode(Pod, POD.decode()) == codec.convert(Pod, codec.whole(POD))


def test_null_means_not_set() -> None:
    text = b"""{"metadata": {"name": "web", "creationTimestamp": null, "labels": null},
                "spec": {"containers": [{"name": "c", "ports": null, "resources": {"limits": null}}],
                         "schedulerName": null, "affinity": null, "priority": null},
                "status": null}"""
    expected = codec.decode(Pod, b'{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c"}]}}')
    assert codec.decode(Pod, text) == expected
    assert codec.convert(Pod, codec.whole(text)) == expected
    assert expected.spec.scheduler_name == "default-scheduler"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"spec": {"priority": "high"}}', "$.spec.priority: Expected `int | null`, got `str`"),
        ('{"spec": {"priority": 3000000000}}', "$.spec.priority: Expected `int` <= 2147483647"),
        ('{"spec": {"containers": [{"name": 1}]}}', "$.spec.containers[0].name: Expected `str`, got `int`"),
        ('{"spec": {"containers": {}}}', "$.spec.containers: Expected `array`, got `object`"),
        ('{"spec": {"containers": [null]}}', "$.spec.containers[0]: Expected `object`, got `null`"),
        ('{"metadata": {"labels": {"a": 1}}}', "$.metadata.labels.a: Expected `str`, got `int`"),
        (
            '{"metadata": {"labels": {"a": "b", "example.com/v": 1, "c": 2}}}',
            '$.metadata.labels["example.com/v"]: Expected `str`, got `int`',
        ),
        ('{"metadata": {"name": null, "labels": 1}}', "$.metadata.labels: Expected `object`, got `int`"),
        ("[]", "$: Expected `object`, got `array`"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line_with_its_path(text: str, message: str) -> None:
    with pytest.raises(codec.DecodeError) as caught:
        codec.decode(Pod, text)
    assert str(caught.value) == message
    assert isinstance(caught.value, StowplanError)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{}}", b"nonsense", b'{"metadata":{"name":"\xff"}}', "\ud800", b"[" * 10**5]
)
def test_broken_json_is_told_in_one_line(data: bytes | str) -> None:
    with pytest.raises(codec.DecodeError, match=r"^\$: [^\n]+$"):
        codec.decode(Pod, data)
    with pytest.raises(codec.DecodeError, match=r"^\$: [^\n]+$"):
        codec.whole(data)


@pytest.mark.parametrize("value", [[], "pod", None, {"spec": []}])
def test_convert_refuses_what_is_no_such_object(value: Any) -> None:
    with pytest.raises(codec.DecodeError):
        codec.convert(Pod, value)


def test_whole_keeps_what_structs_skip_and_wants_an_object() -> None:
    assert codec.whole(POD)["kind"] == "Pod"
    with pytest.raises(codec.DecodeError, match="Expected `object`, got `list`"):
        codec.whole(b"[]")


def test_encode_leaves_defaults_out_and_decode_restores_them() -> None:
    node = Node(metadata=ObjectMeta(name="n1"))
    assert codec.encode(node) == b'{"metadata":{"name":"n1"}}'
    pod = codec.decode(Pod, POD)
    assert codec.decode(Pod, codec.encode(pod)) == pod
    assert b'"hostIP":"10.0.0.1"' in codec.encode(pod)


RACE = """
import sys, threading
from msgspec import defstruct
from stowplan.api import codec

def meet(struct):
    begin.wait()
    codec.decode(struct, b'{"inner": {"a": "x", "b": 1}, "many": [{"c": {"k": "v"}}]}')
    codec.convert(struct, {})

sys.setswitchinterval(1e-6)
begin = threading.Barrier(4)
for number in range(40):
    inner = defstruct("Inner", [(name, str | int, "") for name in "abdefgh"])
    listed = defstruct("Listed", [("c", dict[str, str], {})])
    outer = defstruct("Outer", [("inner", inner | None, None), ("many", tuple[listed, ...], ()), *[
        (f"field{i}", inner | None, None) for i in range(20)]])
    threads = [threading.Thread(target=meet, args=(outer,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_several_threads_meet_a_type_for_the_first_time() -> None:
    """In a process of its own: what may go wrong ends it."""
    assert subprocess.run([sys.executable, "-c", RACE], check=False).returncode == 0
