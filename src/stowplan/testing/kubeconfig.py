"""Kubeconfig files."""

from base64 import b64encode
from pathlib import Path

import yaml

from stowplan.testing.certificates import IssuedKeyPair
from stowplan.testing.users import User


def kubeconfig_text(
    server: str, authority: Path, user: User, pair: IssuedKeyPair | None = None, namespace: str = ""
) -> str:
    """A kubeconfig of one context that needs no other file: the user logs in with `pair`, or else with the token."""
    login = {"token": user.token}
    if pair is not None:
        login = {"client-certificate-data": _data(pair.certificate), "client-key-data": _data(pair.key)}
    context = {"cluster": "local", "user": user.name, **({"namespace": namespace} if namespace else {})}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority-data": _data(authority)}}],
        "users": [{"name": user.name, "user": login}],
        "contexts": [{"name": "local", "context": context}],
        "current-context": "local",
    }
    return str(yaml.safe_dump(config, sort_keys=False))


def _data(file: Path) -> str:
    return b64encode(file.read_bytes()).decode()
