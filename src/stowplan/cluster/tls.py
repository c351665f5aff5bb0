"""TLS contexts as Kubernetes' clients set them up."""

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from stowplan.cluster.credential_source import REREAD_SECONDS, CredentialSource
from stowplan.cluster.errors import CredentialsError


class Certificate(NamedTuple):
    """A client certificate with its key, both PEM, and the field that gave them, for messages."""

    chain: bytes
    key: bytes
    where: str

    def __repr__(self) -> str:
        return f"<Certificate {self.where}>"


class Trust(NamedTuple):
    """Whom to believe that it is the API server: these authorities, the system's if there are none, or anybody."""

    authorities: CredentialSource | None = None
    insecure: bool = False

    def read(self) -> bytes:
        return self.authorities.read() if self.authorities else b""

    def read_again_at(self, now: float) -> float:
        return now + REREAD_SECONDS if self.authorities and self.authorities.path else float("inf")


def make_context(trust: Trust, authorities: bytes, certificate: Certificate | None) -> ssl.SSLContext:
    """A context that trusts these authorities and shows this certificate. Raises CredentialsError."""
    # Not create_default_context: what it demands beyond Go's verification many a cluster's own authority fails.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif trust.authorities is None:
        context.load_default_certs()
    else:
        _load_authorities(context, authorities, trust.authorities.where)
    if certificate is not None:
        _load_certificate(context, certificate)
    return context


def _load_authorities(context: ssl.SSLContext, pem: bytes, where: str) -> None:
    text = pem.decode("ascii", errors="replace").replace("\ufffd", "?")  # comments may be in any language
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise CredentialsError(f"{where}: no PEM certificates: {pem_error_text(error)}") from error


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    # The ssl module takes files only. The folder is readable by us alone and gone at once.
    with tempfile.TemporaryDirectory(prefix="stowplan-") as folder:
        chain, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        try:
            context.load_cert_chain(chain, key, password=_no_password)
        except (ssl.SSLError, ValueError, OSError) as error:
            raise CredentialsError(
                f"{certificate.where}: unusable certificate or key: {pem_error_text(error)}"
            ) from error


def _no_password() -> str:
    """Without this, OpenSSL would ask for the password of an encrypted key on the terminal."""
    raise ValueError("the key is encrypted")


def pem_error_text(error: Exception) -> str:
    """OpenSSL's reason to refuse a certificate or a key."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not in PEM format").replace("_", " ").lower()
    return str(error)
