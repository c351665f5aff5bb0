import ssl
from pathlib import Path

import pytest
import trustme
from tests.unit.cluster.certificates import authority_pem, client_pair

from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.tls import Certificate, Trust, make_context


def test_only_the_given_authorities_are_trusted() -> None:
    trust = Trust(CredentialSource("ca", data=authority_pem()))
    context = make_context(trust, trust.read(), None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_strictness_beyond_gos_is_off() -> None:
    """Many a cluster's authority has no key identifier, which Python refuses by default since 3.13."""
    context = make_context(Trust(insecure=False), b"", None)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN


def test_insecure_trusts_anybody() -> None:
    context = make_context(Trust(insecure=True), b"", None)
    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname


@pytest.mark.parametrize("pem", [b"junk", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"])
def test_authorities_that_are_none(pem: bytes) -> None:
    with pytest.raises(CredentialsError, match=r"^ca field: no PEM certificates: "):
        make_context(Trust(CredentialSource("ca field", data=pem)), pem, None)


def test_a_client_certificate_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_context(Trust(), b"", Certificate(*client_pair(), "user"))
    assert list(tmp_path.iterdir()) == []


def test_the_key_of_another_certificate_is_refused_without_telling_it() -> None:
    chain, _ = client_pair()
    other = trustme.CA().issue_cert("other").private_key_pem.bytes()
    with pytest.raises(CredentialsError) as caught:
        make_context(Trust(), b"", Certificate(chain, other, "user field"))
    assert str(caught.value) == "user field: unusable certificate or key: key values mismatch"


def test_a_certificate_does_not_show_its_key() -> None:
    assert repr(Certificate(b"chain", b"secret", "user")) == "<Certificate user>"
