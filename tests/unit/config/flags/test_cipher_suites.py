import ssl

import pytest

from stowplan.config.flags.cipher_suites import _OPENSSL, openssl_names
from stowplan.errors import ConfigError


def test_suites_by_openssls_names_each_once() -> None:
    suites = (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_GCM_SHA256",
    )
    assert openssl_names(suites) == ("ECDHE-ECDSA-CHACHA20-POLY1305",)


@pytest.mark.parametrize("name", sorted(set(_OPENSSL.values())))
def test_openssl_knows_them(name: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(f"{name}:@SECLEVEL=0")
    assert name in {suite["name"] for suite in context.get_ciphers()}


def test_unknown_ones() -> None:
    with pytest.raises(ConfigError, match=r"^Cipher suite foo not supported or doesn't exist$"):
        openssl_names(["foo"])


def test_broken_ones_are_refused() -> None:
    with pytest.raises(ConfigError, match="TLS_RSA_WITH_RC4_128_SHA is not supported"):
        openssl_names(["TLS_RSA_WITH_RC4_128_SHA"])
