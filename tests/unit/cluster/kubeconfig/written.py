"""Kubeconfig files for tests."""

import copy
from pathlib import Path
from typing import Any

from stowplan.config import yaml_text

CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "main",
    "contexts": [{"name": "main", "context": {"cluster": "home", "user": "me", "namespace": "web"}}],
    "clusters": [{"name": "home", "cluster": {"server": "https://api.example.com:6443"}}],
    "users": [{"name": "me", "user": {"token": "abc"}}],
}


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **top: Any) -> dict[str, Any]:
    """The plain configuration, with another user and more about the cluster."""
    made = copy.deepcopy(CONFIG) | top
    if user is not None:
        made["users"][0]["user"] = user
    made["clusters"][0]["cluster"] |= cluster or {}
    return made


def write(file: Path, content: dict[str, Any]) -> str:
    file.write_text(yaml_text.dump(content))
    return str(file)
