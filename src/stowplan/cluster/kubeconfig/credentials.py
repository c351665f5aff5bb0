"""Static credentials of a kubeconfig or a service account volume: token, basic auth, client certificate."""

import base64
import time
from collections.abc import Callable
from typing import NamedTuple

from stowplan.cluster.connection import Identity
from stowplan.cluster.credential_source import REREAD_SECONDS, CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.tls import Certificate


class KeyPair(NamedTuple):
    """Sources of a client certificate and its key."""

    chain: CredentialSource
    key: CredentialSource

    def read(self) -> Certificate:
        return Certificate(self.chain.read(), self.key.read(), self.chain.where)


class StoredCredentials:
    """Any of a bearer token, a user name with password, and a client certificate. Files are read again."""

    def __init__(
        self,
        *,
        token: CredentialSource | None = None,
        basic: tuple[str, str] | None = None,
        key_pair: KeyPair | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._token = token
        self._basic = basic
        self._key_pair = key_pair
        self._clock = clock
        materials = (token, *(key_pair or ()))
        self.renewable = any(material.path for material in materials if material is not None)

    def obtain(self) -> Identity:
        certificate = self._key_pair.read() if self._key_pair else None
        expires = self._clock() + REREAD_SECONDS if self.renewable else float("inf")
        return Identity(self._headers(), certificate, expires)

    def _headers(self) -> dict[str, str]:
        if self._token is not None:
            return bearer(self._token.read(), self._token.where)
        if self._basic is not None:
            return {"Authorization": f"Basic {base64.b64encode(':'.join(self._basic).encode()).decode()}"}
        return {}


def bearer(token: bytes, where: str) -> dict[str, str]:
    """The header with a token. Raises CredentialsError for a token that would break the request."""
    text = token.strip()
    if not text.isascii() or any(byte < 0x21 or byte == 0x7F for byte in text):
        raise CredentialsError(f"{where}: not a token: it has characters that none may have")
    return {"Authorization": f"Bearer {text.decode('ascii')}"}
