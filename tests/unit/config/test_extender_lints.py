from typing import Any

import pytest

from stowplan.config import read, yaml_text
from stowplan.config.extender_lints import lint
from stowplan.config.types import API_VERSION, KIND

FINE = {
    "urlPrefix": "https://extender.example/v1",
    "filterVerb": "filter",
    "enableHTTPS": True,
    "tlsConfig": {"caFile": "/ca.crt"},
    "nodeCacheCapable": True,
    "ignorable": True,
}


def lints(*extenders: dict[str, Any], **fields: Any) -> list[str]:
    document = {"apiVersion": API_VERSION, "kind": KIND, "extenders": list(extenders), **fields}
    return [f"{notice.path}: {notice.message}" for notice in lint(read(yaml_text.dump(document)), "c.yaml")]


def test_nothing_to_say() -> None:
    assert lints() == lints(FINE) == []


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"urlPrefix": "extender:80"}, "urlPrefix", "must begin with http://"),
        ({"urlPrefix": "http://a"}, "enableHTTPS", "nothing is encrypted"),
        ({"urlPrefix": "http://a", "enableHTTPS": False}, "tlsConfig", "nothing is encrypted"),
        ({"enableHTTPS": False}, "enableHTTPS", "is false, though urlPrefix begins with https://"),
        ({"tlsConfig": None}, "tlsConfig", "names no CA"),
        ({"tlsConfig": {"insecure": True}}, "tlsConfig.insecure", "anyone can pass for the extender"),
        ({"tlsConfig": {"insecure": True, "caFile": "c"}}, "tlsConfig.insecure", "contradicts the CA"),
        ({"tlsConfig": {"caFile": "c", "certFile": "d"}}, "tlsConfig", "has a certificate without its key"),
        ({"httpTimeout": "5us"}, "httpTimeout", "is it the right unit?"),
        ({"httpTimeout": "5m"}, "httpTimeout", "holds up all other pods for 5m0s"),
        ({"filterVerb": ""}, "filterVerb", "never called"),
        ({"filterVerb": "/filter"}, "filterVerb", "two in a row"),
        ({"weight": 3}, "weight", "no effect without prioritizeVerb"),
        ({"nodeCacheCapable": False}, "nodeCacheCapable", "contains all nodes in full"),
        ({"ignorable": False}, "ignorable", "not even its own"),
    ],
)
def test_each(change: dict[str, Any], path: str, words: str) -> None:
    (line,) = lints({**FINE, **change})
    assert line.startswith(f"$.extenders[0].{path}: ")
    assert words in line


def test_ignored_resources_replace_those_of_profiles() -> None:
    extender = {**FINE, "managedResources": [{"name": "a.com/b"}, {"name": "a.com/c", "ignoredByScheduler": True}]}
    text = "takes the place of the ignoredResources of NodeResourcesFit in every profile"
    path = "$.extenders[0].managedResources[1].ignoredByScheduler"
    assert lints(extender) == [f"{path}: {text}"]
    args = {"ignoredResources": ["d.com/e", "d.com/f"]}
    profiles = [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]
    assert lints(extender, profiles=profiles) == [f"{path}: {text}, d.com/e, d.com/f among them"]


def test_paths_are_those_of_the_original() -> None:
    policy = '{"extenders": [{"urlPrefix": "http://a", "filterVerb": "f", "nodeCacheCapable": true}]}'
    config = (
        "{apiVersion: kubescheduler.config.k8s.io/v1alpha1, kind: KubeSchedulerConfiguration, "
        "algorithmSource: {policy: {file: {path: p.json}}}}"
    )
    (notice,) = lint(read(config, "c", policies=lambda _: policy), "c")
    assert str(notice).startswith("c: p.json: $.extenders[0].ignorable: ")
