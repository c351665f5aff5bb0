from pathlib import Path
from typing import Any

import pytest
from tests.unit.cluster.kubeconfig.written import config, write

from stowplan.cluster.kubeconfig.files import read_files
from stowplan.errors import ConfigError


def test_the_first_file_wins_entry_by_entry(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, {"users": [{"name": "me", "user": {"token": "one"}}]})
    write(two, config(user={"token": "two"}, **{"current-context": "main"}))
    merged = read_files([one, two])
    assert merged.users["me"].value.token == "one"
    assert merged.users["me"].where("token") == f"kubeconfig {one}: $.users[0].user.token"
    assert merged.clusters["home"].where("server") == f"kubeconfig {two}: $.clusters[0].cluster.server"
    assert merged.current_context == "main"


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    write(tmp_path / "config", config())
    entry = read_files([tmp_path / "config"]).users["me"]
    assert entry.local_path("pki/me.crt") == str(tmp_path / "pki/me.crt")
    assert entry.local_path("/etc/me.crt") == "/etc/me.crt"


def test_what_others_keep_in_the_file_does_not_matter(tmp_path: Path) -> None:
    extension = {"name": "minikube.sigs.k8s.io", "extension": {"provider": "x"}}
    write(tmp_path / "config", config(cluster={"extensions": [extension]}, preferences={}, extensions=[extension]))
    assert read_files([tmp_path / "config"]).users["me"].value.token == "abc"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty, there is no configuration in it"),
        ("[1]", "expected an object, got a list"),
        ("a: b: c", "malformed YAML: line 1, column 5: mapping values are not allowed in this context"),
        ("users: {}", "$.users: Expected `array`, got `object`"),
        ("users: [{name: me, user: {token: 1}}]", "$.users[0].user.token: Expected `str`, got `int`"),
        ("users: []\nusers: []", "$.users: given more than once"),
    ],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_files([file])
    assert str(caught.value) == f"kubeconfig {file}: {problem}"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_files([tmp_path])
    assert str(caught.value) == f"kubeconfig {tmp_path}: Is a directory"


def test_nulls_count_as_absent(tmp_path: Path) -> None:
    content: dict[str, Any] = config(user={"token": "abc", "exec": None, "client-key": None})
    write(tmp_path / "config", content)
    assert read_files([tmp_path / "config"]).users["me"].value.exec is None
