"""TLS contexts of clients, with Go's rules of verification.

Upstream: k8s.io/client-go/transport/transport.go (TLSConfigFor)
"""

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from stowplan.cluster.credential_source import REREAD_SECONDS, CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.tls_errors import ClientSSLContext


class Certificate(NamedTuple):
    """A client certificate and its key in PEM, and their field in the kubeconfig."""

    chain: bytes
    key: bytes
    where: str

    def __repr__(self) -> str:
        return f"<Certificate {self.where}>"


class Trust(NamedTuple):
    """Trusted authorities of the server: these, by default the system's; `insecure` skips verification."""

    authorities: CredentialSource | None = None
    insecure: bool = False

    def read(self) -> bytes:
        return self.authorities.read() if self.authorities else b""

    def read_again_at(self, now: float) -> float:
        return now + REREAD_SECONDS if self.authorities and self.authorities.path else float("inf")


def make_context(trust: Trust, authorities: bytes, certificate: Certificate | None) -> ClientSSLContext:
    """A context with these authorities and this client certificate. Raises CredentialsError."""
    # Not create_default_context: its strict checks, which Go does not have, reject many clusters' authorities.
    context = ClientSSLContext(ssl.PROTOCOL_TLS_CLIENT)
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
    text = pem.decode("ascii", errors="replace").replace("\ufffd", "?")  # Comments may be in any encoding.
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise CredentialsError(f"{where}: no PEM certificates: {pem_error_text(error)}") from error


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    # The ssl module takes files only. The folder has mode 0700 and is removed at once.
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
    """Keeps OpenSSL from prompting for the password of an encrypted key."""
    raise ValueError("the key is encrypted")


def pem_error_text(error: Exception) -> str:
    """OpenSSL's reason for rejecting a certificate or key."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not in PEM format").replace("_", " ").lower()
    return str(error)
