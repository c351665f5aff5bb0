from pathlib import Path

import pytest

from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import CredentialsError


def test_what_is_given_in_place() -> None:
    material = CredentialSource("$.token", data=b"secret")
    assert material.read() == b"secret"
    assert "secret" not in repr(material)


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"one")
    material = CredentialSource("$.tokenFile", path=str(file))
    assert material.read() == b"one"
    file.write_bytes(b"two")
    assert material.read() == b"two"


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_file_may_be_missing_for_a_while(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"secret")
    material = CredentialSource("$.tokenFile", path=str(file))
    material.read()
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert material.read() == b"secret"
    assert caplog.messages[0].startswith("Failed to read credentials, the previous ones stay in use: $.tokenFile: ")
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "No such file or directory"), (b"\n", "the file is empty")], ids=["none", "empty"]
)
def test_but_it_must_be_there_at_first(tmp_path: Path, content: bytes | None, problem: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CredentialsError) as caught:
        CredentialSource("kubeconfig: $.tokenFile", path=str(file)).read()
    assert str(caught.value) == f"kubeconfig: $.tokenFile: {problem}: {file}"


def test_a_fallback_stands_in_for_a_file(tmp_path: Path) -> None:
    assert CredentialSource("$.tokenFile", data=b"fallback", path=str(tmp_path / "none")).read() == b"fallback"
