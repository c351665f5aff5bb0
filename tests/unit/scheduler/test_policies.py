from __future__ import annotations

import json
from pathlib import Path

import pytest

from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError
from stowplan.config.conversion import PolicySource
from stowplan.errors import ConfigError
from stowplan.scheduler.policies import Policies

SOURCE = PolicySource(namespace="kube-system", name="mine")


@pytest.fixture
def reply(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the API server says; an exception is raised."""
    said: list[object] = [{}]

    async def get(self: Client, path: str) -> bytes:
        assert path == "/api/v1/namespaces/kube-system/configmaps/mine"
        if isinstance(said[0], Exception):
            raise said[0]
        return json.dumps(said[0]).encode()

    monkeypatch.setattr(Client, "get", get)
    return said


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "p"
    file.write_text("kind: Policy")
    assert Policies()(PolicySource(file=str(file))) == b"kind: Policy"


def test_a_config_map(reply: list[object]) -> None:
    reply[0] = {"data": {"policy.cfg": "kind: Policy", "other": ""}}
    assert Policies(master="http://127.0.0.1:1")(SOURCE) == "kind: Policy"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({}, 'missing policy config map value at key "policy.cfg" in ConfigMap kube-system/mine'),
        (
            ApiError(404, "NotFound", 'configmaps "mine" not found'),
            'couldn\'t get policy config map kube-system/mine: configmaps "mine" not found',
        ),
        (TimeoutError(), "couldn't get policy config map kube-system/mine: no answer"),
    ],
)
def test_no_policy_there(reply: list[object], said: object, line: str) -> None:
    reply[0] = said
    with pytest.raises(ConfigError) as caught:
        Policies(master="http://127.0.0.1:1")(SOURCE)
    assert str(caught.value).startswith(line)
