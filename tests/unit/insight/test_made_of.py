"""Where the request of a pod comes from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, container, pod

from stowplan.insight.explain import explained_pod
from stowplan.insight.made_of import made_of, requests_in_words, sum_in_words

MESH = {**container("mesh", cpu="1"), "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "parts", "words"),
    [
        ({"containers": [container("app", cpu="11")]}, None, ""),
        ({"containers": [container("app", cpu="11"), container("idle")]}, None, ""),
        (
            {"containers": [container("app", cpu="11"), container("proxy", cpu="500m")], "overhead": {"cpu": "500m"}},
            {"app": 11000, "proxy": 500, "overhead": 500},
            "12 CPU = app 11 + proxy 0.5 + overhead 0.5.",
        ),
        (
            {"containers": [container("app", cpu="1")], "initContainers": [container("migrate", cpu="16")]},
            {"migrate": 16000},
            "Its init container migrate alone asks for 16 CPU; its containers ask for 1 CPU together.",
        ),
        (
            {"containers": [container("app")], "initContainers": [container("migrate", cpu="16")]},
            {"migrate": 16000},
            "Its init container migrate alone asks for 16 CPU; its containers ask for no cpu together.",
        ),
        (
            {"containers": [container("app", cpu="1")], "initContainers": [MESH, container("migrate", cpu="16")]},
            {"migrate": 16000, "mesh": 1000},
            "17 CPU = init container migrate 16 + mesh 1.",
        ),
        (
            {"containers": [container("app", cpu="1")], "initContainers": [container("migrate", cpu="1"), MESH]},
            {"app": 1000, "mesh": 1000},
            "2 CPU = app 1 + mesh 1.",
        ),
        (
            {"containers": [container("app", cpu="1")], "resources": {"requests": {"cpu": "4"}}},
            {"pod": 4000},
            "The pod itself (spec.resources) asks for 4 CPU; its containers ask for 1 CPU together.",
        ),
        (
            {
                "containers": [container("app", cpu="1")],
                "resources": {"requests": {"cpu": "4"}},
                "overhead": {"cpu": "250m"},
            },
            {"pod": 4000, "overhead": 250},
            "4.25 CPU = the pod itself (spec.resources) 4 + overhead 0.25.",
        ),
        (
            {"containers": [container("a", cpu="0.0005"), container("b", cpu="0.0005"), container("c", cpu="0.001")]},
            {"a": 1, "c": 1},
            "2m CPU = a 0.001 + c 0.001.",
        ),
    ],
)
def test_parts_add_up(spec: dict[str, Any], parts: dict[str, int] | None, words: str) -> None:
    made = World().pod(pod("p", **spec))
    assert made_of(made).get("cpu") == parts
    assert sum_in_words(made, "cpu") == words
    if parts is not None:
        assert sum(parts.values()) == made.template.requests["cpu"]


def test_requests_in_words() -> None:
    containers = [container("app", memory="47Gi", cpu="11"), container("proxy", memory="1Gi", cpu="1")]
    made = World().pod(pod("p", containers=containers))
    assert requests_in_words(explained_pod(made)) == "12 CPU (app 11, proxy 1), 48Gi (app 47Gi, proxy 1Gi)"
    assert requests_in_words(explained_pod(World().pod(pod("q", requests={"cpu": "2"})))) == "2 CPU"
    assert requests_in_words(explained_pod(World().pod(pod("r")))) == ""
