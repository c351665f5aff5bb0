"""Kubeconfig files."""

from base64 import b64decode
from pathlib import Path

import pytest
import yaml

from stowplan.testing.certificates import IssuedKeyPair
from stowplan.testing.kubeconfig import kubeconfig_text
from stowplan.testing.users import User

USER = User("me", token="secret")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    files = [tmp_path / name for name in ("ca.crt", "me.crt", "me.key")]
    for file in files:
        file.write_text(file.name)
    return files


def test_login_by_token(files: list[Path]) -> None:
    config = yaml.safe_load(kubeconfig_text("https://127.0.0.1:1", files[0], USER, namespace="mine"))
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:1"
    assert b64decode(cluster["cluster"]["certificate-authority-data"]) == b"ca.crt"
    assert config["users"] == [{"name": "me", "user": {"token": "secret"}}]
    assert config["contexts"] == [
        {"name": config["current-context"], "context": {"cluster": cluster["name"], "user": "me", "namespace": "mine"}}
    ]


def test_login_by_certificate(files: list[Path]) -> None:
    config = yaml.safe_load(kubeconfig_text("https://127.0.0.1:1", files[0], USER, IssuedKeyPair(files[1], files[2])))
    (user,) = config["users"]
    assert {key: b64decode(value) for key, value in user["user"].items()} == {
        "client-certificate-data": b"me.crt",
        "client-key-data": b"me.key",
    }
    assert "namespace" not in config["contexts"][0]["context"]
