import os
import ssl
import stat
from pathlib import Path

import pytest
import trustme
from tests.unit.serving.test_self_signed import handshake

from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError
from stowplan.serving.certificates import ServerTLS

pytestmark = pytest.mark.usefixtures("klog")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def write_pair(authority: trustme.CA, folder: Path, name: str = "localhost") -> ServingOptions:
    made = authority.issue_cert(name)
    certificate, key = folder / "tls.crt", folder / "tls.key"
    made.cert_chain_pems[0].write_to_path(certificate)
    made.private_key_pem.write_to_path(key)
    return ServingOptions(certificate_file=str(certificate), key_file=str(key))


def verified_by(authority: trustme.CA, tls: ServerTLS, name: str = "localhost") -> dict[str, object]:
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return handshake(tls.context, client, name)


def trusting_nobody() -> ssl.SSLContext:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    return client


def test_one_is_made_up_where_none_is_given() -> None:
    tls = ServerTLS(ServingOptions())
    handshake(tls.context, trusting_nobody(), "localhost")


def test_files(authority: trustme.CA, tmp_path: Path) -> None:
    assert verified_by(authority, ServerTLS(write_pair(authority, tmp_path)))


def test_files_are_read_again_when_they_change(authority: trustme.CA, tmp_path: Path) -> None:
    tls = ServerTLS(write_pair(authority, tmp_path))
    write_pair(authority, tmp_path, "other.example")
    tls.reload()
    assert verified_by(authority, tls, "other.example")


def test_files_that_have_gone_bad_are_not_used(
    authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tls = ServerTLS(write_pair(authority, tmp_path))
    (tmp_path / "tls.crt").write_text("no certificate")
    tls.reload()
    assert verified_by(authority, tls)
    assert "Failed to reload certificates" in capsys.readouterr().err


def test_a_certificate_that_comes_before_its_key_is_not_used(authority: trustme.CA, tmp_path: Path) -> None:
    tls = ServerTLS(write_pair(authority, tmp_path))
    key = (tmp_path / "tls.key").read_bytes()
    write_pair(authority, tmp_path, "other.example")
    other = (tmp_path / "tls.key").read_bytes()
    (tmp_path / "tls.key").write_bytes(key)
    tls.reload()
    assert verified_by(authority, tls)
    (tmp_path / "tls.key").write_bytes(other)
    tls.reload()
    assert verified_by(authority, tls, "other.example")


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_files_that_are_no_good_from_the_start(tmp_path: Path, text: str | None) -> None:
    options = ServingOptions(certificate_file=str(tmp_path / "tls.crt"), key_file=str(tmp_path / "tls.key"))
    if text is not None:
        (tmp_path / "tls.crt").write_text(text)
        (tmp_path / "tls.key").write_text(text)
    with pytest.raises(ConfigError, match=str(tmp_path)):
        ServerTLS(options)


@pytest.mark.parametrize("lacking", ["files in memory", "/proc"])
def test_systems_that_lack_something(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "/proc":
        monkeypatch.setattr("stowplan.serving.certificates._OPEN_FILES", tmp_path / "nowhere")
    else:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    assert verified_by(authority, ServerTLS(write_pair(authority, tmp_path)))


def test_a_folder_keeps_what_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    options = ServingOptions(directory=str(folder))
    ServerTLS(options)
    first = (folder / "kube-scheduler.crt").read_bytes()
    assert stat.S_IMODE(os.stat(folder / "kube-scheduler.key").st_mode) == 0o600
    ServerTLS(options)
    assert (folder / "kube-scheduler.crt").read_bytes() == first


def test_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match="--cert-dir: /dev/null/x: "):
        ServerTLS(ServingOptions(directory="/dev/null/x"))


def test_the_oldest_version_of_tls() -> None:
    client = trusting_nobody()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    tls = ServerTLS(ServingOptions(minimum_tls="VersionTLS13"))
    with pytest.raises(ssl.SSLError):
        handshake(tls.context, client, "localhost")


def test_cipher_suites() -> None:
    tls = ServerTLS(ServingOptions(cipher_suites=("ECDHE-ECDSA-AES256-GCM-SHA384",)))
    old = {cipher["name"] for cipher in tls.context.current.get_ciphers() if cipher["protocol"] != "TLSv1.3"}
    assert old == {"ECDHE-ECDSA-AES256-GCM-SHA384"}


def test_cipher_suites_that_openssl_has_not() -> None:
    with pytest.raises(ConfigError, match="--tls-cipher-suites: OpenSSL has none of these"):
        ServerTLS(ServingOptions(cipher_suites=("NO-SUCH-SUITE",)))


def test_client_certificates_are_asked_for_where_somebody_vouches_for_them(
    authority: trustme.CA, tmp_path: Path
) -> None:
    assert ServerTLS(ServingOptions()).context.current.verify_mode == ssl.CERT_NONE
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    tls = ServerTLS(ServingOptions(), str(tmp_path / "ca.crt"))
    assert tls.context.current.verify_mode == ssl.CERT_OPTIONAL
    handshake(tls.context, trusting_nobody(), "localhost")


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_client_authorities_that_are_no_good(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError):
        ServerTLS(ServingOptions(), str(file))
