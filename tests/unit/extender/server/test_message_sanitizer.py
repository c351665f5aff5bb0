from typing import Any

import msgspec
import pytest

from stowplan import api
from stowplan.api import codec
from stowplan.extender.server.message_sanitizer import MessageSanitizer

POD: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "labels": {"app": "web"},
        "annotations": {"token": "hush", "gpu": "1"},
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": {
        "imagePullSecrets": [{"name": "registry-login"}],
        "containers": [
            {
                "name": "c",
                "image": "x",
                "command": ["run", "--password=hush"],
                "args": ["hush"],
                "env": [
                    {"name": "A", "value": "hush"},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hush", "key": "hush"}}},
                ],
                "envFrom": [{"secretRef": {"name": "hush"}}],
                "livenessProbe": {
                    "httpGet": {"port": 1, "path": "/hush", "httpHeaders": [{"name": "Authorization", "value": "hush"}]}
                },
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "volumes": [
            {"name": "v", "secret": {"secretName": "hush"}},
            {"name": "w", "csi": {"driver": "d", "volumeAttributes": {"accountKey": "hush"}}},
            {"name": "hush", "secret": {"secretName": "hush"}},
            {"name": "y", "gitRepo": {"repository": "https://user:hush@example.com/x.git"}},
            {"name": "z", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "hush"}}},
            {"name": "u", "azureFile": {"secretName": "hush", "shareName": "hush"}},
            {"name": "x", "flexVolume": {"driver": "d", "options": {"password": "hush"}}},
        ],
        "tolerations": None,
    },
}


def sanitized(value: Any, *keep: str) -> Any:
    return MessageSanitizer(keep).message(msgspec.json.encode(value))


@pytest.mark.parametrize("key", ["Pod", "pod", "POD"])
def test_a_pod_keeps_what_scheduling_reads(key: str) -> None:
    plain = sanitized({key: POD})[key]
    assert "hush" not in repr(plain)
    assert "registry-login" not in repr(plain)
    assert plain["metadata"] == {"name": "web", "labels": {"app": "web"}, "annotations": {}}
    assert plain["spec"] == {
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        "volumes": [
            {"name": "w", "csi": {"driver": "d"}},
            {"name": "z", "csi": {"driver": "d"}},
            {"name": "u", "azureFile": {}},
        ],
        "tolerations": None,
    }
    decoded = codec.convert(api.Pod, plain)
    original = codec.convert(api.Pod, POD)
    assert decoded.spec.containers == original.spec.containers


def test_annotations_that_are_kept() -> None:
    assert sanitized({"Pod": POD}, "gpu")["Pod"]["metadata"]["annotations"] == {"gpu": "1"}


NODE: dict[str, Any] = {
    "metadata": {"name": "n", "annotations": {"x": "hush"}},
    "spec": {"providerID": "hush", "taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"addresses": [{"address": "hush"}], "conditions": [{"type": "Ready", "message": "hush"}]},
}


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ({"Nodes": {"metadata": {"x": "hush"}, "items": [NODE]}, "NodeNames": ["n"]}, {"Nodes", "NodeNames"}),
        (
            {
                "NodeNameToVictims": {"n": {"Pods": [POD], "NumPDBViolations": 1}},
                "NodeNameToMetaVictims": {"n": {"Pods": [{"UID": "u", "X": "hush"}]}},
            },
            {"NodeNameToVictims", "NodeNameToMetaVictims"},
        ),
        ({"PodName": "p", "PodNamespace": "d", "PodUID": "u", "Node": "n", "Token": "hush"}, None),
        ({"FailedNodes": {"n": "untidy"}, "FailedAndUnresolvableNodes": {"n": {"a": "hush"}}, "Error": ["hush"]}, None),
        ([{"Host": "n", "Score": 3, "X": "hush"}, "hush"], None),
        ("hush", None),
    ],
)
def test_messages_of_every_verb(message: Any, left: set[str] | None) -> None:
    plain = sanitized(message)
    assert "hush" not in repr(plain)
    if left is not None:
        assert set(plain) == left


def test_messages_keep_their_results() -> None:
    assert sanitized([{"Host": "n", "Score": 3}]) == [{"Host": "n", "Score": 3}]
    meta = {"NodeNameToMetaVictims": {"n": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}}
    assert sanitized(meta) == meta
    assert sanitized({"FailedNodes": {"n": "untidy"}, "Error": ""}) == {"FailedNodes": {"n": "untidy"}, "Error": ""}
    binding = {"PodName": "p", "PodNamespace": "d", "PodUID": "u", "Node": "n"}
    assert sanitized(binding) == binding
    taints = sanitized({"Nodes": {"items": [NODE]}})["Nodes"]["items"][0]["spec"]["taints"]
    assert taints == [{"key": "k", "effect": "NoSchedule"}]
