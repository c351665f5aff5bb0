"""A certificate authority that lives as long as the control plane: nothing that it signs is good for anything else."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stowplan.testing.errors import UnavailableError

try:
    import trustme
except ImportError:
    raise UnavailableError(
        "certificates for the control plane are made with trustme: pip install 'stowplan[testing]'"
    ) from None


class IssuedKeyPair(NamedTuple):
    """A certificate and its private key, in files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for servers on this machine and for the users of the API server; its own is in `file`."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self._folder = folder
        self.file = folder / "ca.crt"
        self._authority.cert_pem.write_to_path(self.file)

    def signing_key(self) -> Path:
        """A key of its own, to sign the tokens of service accounts with."""
        path = self._folder / "service-accounts.key"
        trustme.CA().private_key_pem.write_to_path(path)
        return path

    def server(self, name: str, hosts: Sequence[str] = ("127.0.0.1", "localhost")) -> IssuedKeyPair:
        """What a server shows to its clients."""
        return self._write(name, self._authority.issue_cert(*hosts))

    def client(self, user: str, group: str = "") -> IssuedKeyPair:
        """What logs a user in. The API server reads the name from CN and the group, one at most, from O."""
        # Go refuses a certificate whose list of alternative names is there and empty.
        leaf = self._authority.issue_cert("client.invalid", common_name=user, organization_name=group or None)
        return self._write(user.replace(":", "-"), leaf)

    def _write(self, name: str, leaf: trustme.LeafCert) -> IssuedKeyPair:
        pair = IssuedKeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(pair.key)
        return pair
