"""Looking into rendered objects."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from stowplan.testing.objects import JsonObject

DEPLOY = Path(__file__).parents[2] / "deploy"


def find(objects: Iterable[JsonObject], kind: str, name: str) -> JsonObject:
    """The one object of a kind whose name ends so."""
    found = [obj for obj in objects if obj["kind"] == kind and obj["metadata"]["name"].endswith(name)]
    assert len(found) == 1, [(obj["kind"], obj["metadata"]["name"]) for obj in objects]
    return found[0]


def pod_specs(objects: Iterable[JsonObject]) -> Iterator[JsonObject]:
    for obj in objects:
        if obj["kind"] in ("Deployment", "DaemonSet"):
            yield obj["spec"]["template"]["spec"]
        elif obj["kind"] == "Pod":
            yield obj["spec"]


def containers(objects: Iterable[JsonObject]) -> Iterator[JsonObject]:
    for spec in pod_specs(objects):
        yield from spec["containers"]


def roles(objects: Iterable[JsonObject]) -> dict[tuple[str, str], Any]:
    """What each role allows, by kind and name; the names of leases stand as `LEASE`, since they are the release's."""
    return {
        (obj["kind"], obj["metadata"]["name"]): [
            rule | ({"resourceNames": ["LEASE"]} if "resourceNames" in rule else {}) for rule in obj["rules"]
        ]
        for obj in objects
        if obj["kind"] in ("ClusterRole", "Role")
    }


def file(name: str) -> list[JsonObject]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))
