"""Requests for devices on behalf of extended resources, compared with those that kube-scheduler makes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, make, pod

from stowplan import api
from stowplan.plugins.dynamic_resources.extended_requests import requests_for

CLASSES = {f"example.com/{name}": make("DeviceClass", f"{name}-class") for name in ("gpu", "nic")}


def asking(name: str, *, always: bool = False, **amounts: int) -> dict[str, Any]:
    """A container; `cpu` and our resources sort together."""
    requests = {(key if key == "cpu" else f"example.com/{key}"): str(amount) for key, amount in amounts.items()}
    restart = {"restartPolicy": "Always"} if always else {}
    return {"name": name, "resources": {"requests": requests}, **restart}


def worked_out(containers: list[Any], inits: list[Any]) -> tuple[dict[str, Any], list[str]]:
    template = World().pod(pod("p", containers=containers, initContainers=inits)).template
    requests, mappings = requests_for(template, CLASSES, CLASSES.get)
    asked = {}
    for request in requests:
        assert isinstance(request.exactly, api.ExactDeviceRequest)
        assert request.exactly.allocation_mode == "ExactCount"
        asked[request.name] = (request.exactly.device_class_name, request.exactly.count)
    told = [f"{m.container_name} {m.resource_name.removeprefix('example.com/')} {m.request_name}" for m in mappings]
    return asked, told


@pytest.mark.parametrize(
    ("containers", "inits", "asked", "mappings"),
    [
        ([asking("a")], [], {}, []),
        ([asking("a", gpu=0)], [], {}, []),
        (
            [asking("a", cpu=1, gpu=2), asking("b", nic=1, gpu=1)],
            [],
            {
                "container-0-request-1": ("gpu-class", 2),
                "container-1-request-0": ("gpu-class", 1),
                "container-1-request-1": ("nic-class", 1),
            },
            ["a gpu container-0-request-1", "b gpu container-1-request-0", "b nic container-1-request-1"],
        ),
        (
            [asking("a", gpu=2)],
            [asking("i", gpu=1)],
            {"container-1-request-0": ("gpu-class", 2)},
            ["a gpu container-1-request-0", "i gpu container-1-request-0"],
        ),
        (
            [asking("a", gpu=2)],
            [asking("i", gpu=5), asking("j", gpu=3)],
            {"container-0-request-0": ("gpu-class", 3), "container-2-request-0": ("gpu-class", 2)},
            [
                "a gpu container-2-request-0",
                "i gpu container-2-request-0",
                "i gpu container-0-request-0",
                "j gpu container-2-request-0",
                "j gpu container-0-request-0",
            ],
        ),
        (
            [asking("a")],
            [asking("i", gpu=1), asking("s", gpu=1, always=True), asking("j", gpu=1)],
            {"container-1-request-0": ("gpu-class", 1), "container-2-request-0": ("gpu-class", 1)},
            ["s gpu container-1-request-0", "i gpu container-1-request-0", "j gpu container-2-request-0"],
        ),
    ],
)
def test_requests_and_mappings(containers: Any, inits: Any, asked: Any, mappings: Any) -> None:
    assert worked_out(containers, inits) == (asked, mappings)
