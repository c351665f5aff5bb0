"""Throw-away certificates."""

from functools import cache

import trustme


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def authority_pem() -> bytes:
    return authority().cert_pem.bytes()


@cache
def client_pair(name: str = "scheduler") -> tuple[bytes, bytes]:
    """A client certificate and its key, both PEM."""
    made = authority().issue_cert(common_name=name)
    return made.cert_chain_pems[0].bytes(), made.private_key_pem.bytes()


@cache
def server_certificate(name: str) -> trustme.LeafCert:
    return authority().issue_cert(name)
