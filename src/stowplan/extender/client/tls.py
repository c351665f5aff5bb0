"""TLS as an extender's entry describes it.

Upstream: pkg/scheduler/extender.go (makeTransport)
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

from stowplan.cluster.credential_source import REREAD_SECONDS, CredentialSource
from stowplan.cluster.tls import Certificate, Trust, make_context
from stowplan.cluster.tls_errors import ClientSSLContext
from stowplan.config.types import Extender, ExtenderTLSConfig
from stowplan.errors import ConfigError


class Tls:
    """The TLS context of an extender's connections. A client certificate in files is read again when it is replaced;
    authorities are read once, as kube-scheduler does. Raises CredentialsError where they cannot be read at all."""

    def __init__(self, entry: Extender, where: str, clock: Callable[[], float]) -> None:
        """`where` is the entry's place in the configuration, for messages."""
        wanted = entry.tls_config or ExtenderTLSConfig()
        self._clock = clock
        self.server_name = wanted.server_name or None
        at = f"{where}.tlsConfig"
        authorities = _material(f"{at}.ca", wanted.ca_data, wanted.ca_file)
        if wanted.insecure and authorities is not None:
            raise ConfigError(f"{at}: specifying a root certificates file with the insecure flag is not allowed")
        # enableHTTPS alone disables verification, as in kube-scheduler.
        insecure = wanted.insecure or (entry.enable_https and authorities is None)
        self._trust = Trust(authorities, insecure)
        self._authorities = self._trust.read()
        chain = _material(f"{at}.cert", wanted.cert_data, wanted.cert_file)
        key = _material(f"{at}.key", wanted.key_data, wanted.key_file)
        if (chain is None) != (key is None):
            raise ConfigError(f"{at}: a client certificate needs both a certificate and its key")
        self._pair = None if chain is None or key is None else (chain, key)
        self._shown = self._read_pair()
        self._read_again_at = clock() + REREAD_SECONDS
        self._context = self._make()

    def context(self) -> ClientSSLContext:
        if self._pair is not None and self._clock() >= self._read_again_at:
            self._read_again_at = self._clock() + REREAD_SECONDS
            shown = self._read_pair()
            if shown != self._shown:
                self._shown = shown
                self._context = self._make()
        return self._context

    def take_alert(self) -> ssl.SSLError | None:
        """The alert by which a server ended a connection since the last call."""
        alert, self._context.alert = self._context.alert, None
        return alert

    def _read_pair(self) -> Certificate | None:
        if self._pair is None:
            return None
        chain, key = self._pair
        return Certificate(chain.read(), key.read(), chain.where)

    def _make(self) -> ClientSSLContext:
        return make_context(self._trust, self._authorities, self._shown)


def _material(where: str, data: bytes, path: str) -> CredentialSource | None:
    """Inline data takes precedence over a file."""
    if data:
        return CredentialSource(f"{where}Data", data=data)
    return CredentialSource(f"{where}File", path=path) if path else None
