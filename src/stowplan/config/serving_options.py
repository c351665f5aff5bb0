"""Where a server listens and how it proves who it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """Where and how HTTPS is served."""

    address: str = "0.0.0.0"
    port: int = 10259
    """0 for not at all."""
    certificate_file: str = ""
    key_file: str = ""
    directory: str = ""
    """Where the certificate is looked for, or kept once it is made; none means in memory."""
    cipher_suites: tuple[str, ...] = ()
    """OpenSSL's names; none means its defaults."""
    minimum_tls: str = "VersionTLS12"
    share_port: bool = False
    """Whether other processes may listen on the same port."""
