"""The certificate authority of one control plane, which no other process trusts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stowplan.testing.errors import UnavailableError

if TYPE_CHECKING:
    import trustme


class IssuedKeyPair(NamedTuple):
    """A certificate and its private key, in files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for servers on this machine and for the users of the API server; its own is in `file`."""

    def __init__(self, folder: Path) -> None:
        self._authority = _new_authority()
        self._folder = folder
        self.file = folder / "ca.crt"
        self._authority.cert_pem.write_to_path(self.file)

    def signing_key(self) -> Path:
        """A key of its own, to sign the tokens of service accounts with."""
        path = self._folder / "service-accounts.key"
        _new_authority().private_key_pem.write_to_path(path)
        return path

    def server(self, name: str, hosts: Sequence[str] = ("127.0.0.1", "localhost")) -> IssuedKeyPair:
        """A serving certificate."""
        return self._write(name, self._authority.issue_cert(*hosts))

    def client(self, user: str, group: str = "") -> IssuedKeyPair:
        """A client certificate. The API server reads the user's name from CN and one group from O."""
        # Go rejects a certificate with an empty list of alternative names.
        leaf = self._authority.issue_cert("client.invalid", common_name=user, organization_name=group or None)
        return self._write(user.replace(":", "-"), leaf)

    def _write(self, name: str, leaf: trustme.LeafCert) -> IssuedKeyPair:
        pair = IssuedKeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(pair.key)
        return pair


def _new_authority() -> trustme.CA:
    try:
        import trustme
    except ImportError:
        raise UnavailableError(
            "certificates for the control plane are made with trustme, which is not installed: pip install trustme"
        ) from None
    return trustme.CA()
