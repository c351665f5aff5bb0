"""Manifests as users write them: no uid, no status of pods, no defaults."""

from __future__ import annotations

from tests.builders.objects import Json, container

WEB = """
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]}
"""


def pod_manifest(name: str, cpu: str | int = "1", *, labels: Json | None = None, **spec: object) -> Json:
    """A pod that requests `cpu`. Keywords: the spec."""
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container(cpu=cpu)], **spec}}
