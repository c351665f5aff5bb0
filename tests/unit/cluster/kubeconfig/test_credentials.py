from pathlib import Path

import pytest

from stowplan.cluster.credential_source import REREAD_SECONDS, CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.kubeconfig.credentials import KeyPair, StoredCredentials
from stowplan.cluster.tls import Certificate


def test_nobody_in_particular() -> None:
    identity = StoredCredentials().obtain()
    assert (identity.headers, identity.certificate, identity.expires) == ({}, None, float("inf"))


def test_a_token() -> None:
    credentials = StoredCredentials(token=CredentialSource("t", data=b" abc\n"))
    assert credentials.obtain().headers == {"Authorization": "Bearer abc"}
    assert not credentials.renewable


def test_a_name_and_a_password() -> None:
    credentials = StoredCredentials(basic=("Aladdin", "open sesame"))
    assert credentials.obtain().headers == {"Authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}


def test_files_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = StoredCredentials(token=CredentialSource("t", path=str(file)), clock=lambda: 1000.0)
    assert credentials.renewable
    assert credentials.obtain().expires == 1000.0 + REREAD_SECONDS
    file.write_text("two")
    assert credentials.obtain().headers == {"Authorization": "Bearer two"}


def test_a_certificate(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("KEY")
    pair = KeyPair(CredentialSource("cert", data=b"CHAIN"), CredentialSource("key", path=str(key)))
    credentials = StoredCredentials(key_pair=pair)
    assert credentials.renewable
    assert credentials.obtain().certificate == Certificate(b"CHAIN", b"KEY", "cert")


@pytest.mark.parametrize("token", [b"two words", b"two\r\nlines", "t\u00f6ken".encode(), b"nul\x00"])
def test_what_cannot_be_a_token_is_refused_without_telling_it(token: bytes) -> None:
    with pytest.raises(CredentialsError) as caught:
        StoredCredentials(token=CredentialSource("$.token", data=token)).obtain()
    assert str(caught.value) == "$.token: not a token: it has characters that none may have"
