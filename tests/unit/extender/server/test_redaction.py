from typing import Any

from stowplan.extender.server.redaction import REDACTED, redact

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
                "livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "Authorization", "value": "hush"}]}},
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "volumes": [
            {"name": "v", "secret": {"secretName": "hush"}},
            {"name": "w", "csi": {"driver": "d", "volumeAttributes": {"accountKey": "hush"}}},
            {"name": "x", "flexVolume": {"driver": "d", "options": {"password": "hush"}}},
        ],
        "tolerations": None,
    },
}


def test_what_is_hidden_and_what_stays() -> None:
    plain = redact({"Pod": POD})["Pod"]
    assert "hush" not in repr(plain)
    assert "registry-login" not in repr(plain)
    assert "managedFields" not in plain["metadata"]
    assert plain["metadata"]["labels"] == {"app": "web"}
    assert plain["metadata"]["annotations"] == {"token": REDACTED, "gpu": REDACTED}
    container = plain["spec"]["containers"][0]
    assert container["env"][0] == {"name": "A", "value": REDACTED}
    assert container["resources"] == {"requests": {"cpu": "1"}}
    assert plain["spec"]["tolerations"] is None


def test_annotations_that_are_to_stay() -> None:
    assert redact(POD, ["gpu"])["metadata"]["annotations"] == {"token": REDACTED, "gpu": "1"}


def test_the_original_is_left_alone() -> None:
    redact(POD)
    assert POD["spec"]["containers"][0]["args"] == ["hush"]


def test_what_is_no_object() -> None:
    assert redact([1, "x", None, {"env": "odd"}]) == [1, "x", None, {"env": "odd"}]
