"""The serving certificate and the client CA, reloaded when their files change.

Upstream: k8s.io/apiserver/pkg/server/dynamiccertificates, k8s.io/apiserver/pkg/server/options/serving.go
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from stowplan import logs
from stowplan.cluster.tls import pem_error_text
from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError, os_error_text
from stowplan.serving.self_signed import make_self_signed_in_child

log = logs.get(__name__)

_PAIR_NAME = "kube-scheduler"
_OPEN_FILES = Path("/proc/self/fd")
_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


class _Pair(NamedTuple):
    where: str
    certificate: bytes
    key: bytes


class FollowingContext(ssl.SSLContext):
    """The context of a listener: each new connection uses the context that is current at that time.

    OpenSSL cannot remove trusted authorities from a context, and a context resumes the sessions that it issued. So
    every change makes a new context; open connections keep theirs.
    """

    current: ssl.SSLContext

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Called by event loops once per connection."""
        return self.current.wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class ServerTLS:
    """The server's TLS context, kept up to date with its files."""

    def __init__(self, options: ServingOptions, client_ca_file: str = "") -> None:
        """Raises ConfigError if a certificate cannot be read or written."""
        self._options = options
        self._files = _find_pair(options)
        self._client_ca_file = client_ca_file
        if self._files is None:
            self._pair = _Pair("in memory", *make_self_signed_in_child("localhost", _addresses(options)))
            log.info("Generated self-signed cert in-memory")
        else:
            self._pair = _read_pair(*self._files)
        self._authorities = _read_authorities(client_ca_file) if client_ca_file else None
        self.context = FollowingContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = _make(options, self._pair, self._authorities)

    def trust_clients(self, authorities: str) -> None:
        """Request client certificates, and accept those that these authorities (PEM) signed."""
        self._switch(self._pair, authorities)

    def reload(self) -> None:
        """Read the files again. A file that cannot be read leaves the context as it is."""
        for reload in (self._reload_pair, self._reload_authorities):
            try:
                reload()
            except ConfigError as error:
                log.error(error, "Failed to reload certificates, the old ones stay in use")

    def _reload_pair(self) -> None:
        if self._files is not None:
            self._switch(_read_pair(*self._files), self._authorities)

    def _reload_authorities(self) -> None:
        if self._client_ca_file:
            self._switch(self._pair, _read_authorities(self._client_ca_file))

    def _switch(self, pair: _Pair, authorities: str | None) -> None:
        if (pair, authorities) != (self._pair, self._authorities):
            self.context.current = _make(self._options, pair, authorities)
            self._pair, self._authorities = pair, authorities


def _make(options: ServingOptions, pair: _Pair, authorities: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[options.minimum_tls]
    context.set_alpn_protocols(["http/1.1"])
    if options.cipher_suites:
        try:
            context.set_ciphers(":".join(options.cipher_suites))
        except ssl.SSLError as error:
            raise ConfigError(f"--tls-cipher-suites: OpenSSL has none of these: {error}") from error
    try:
        with _file_of(pair.certificate) as certificate, _file_of(pair.key) as key:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{pair.where}: {_text(error)}") from error
    if authorities is not None:
        try:
            context.load_verify_locations(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"client authorities: {_text(error)}") from error
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _find_pair(options: ServingOptions) -> tuple[str, str] | None:
    """The files of certificate and key; None for a pair in memory."""
    if options.certificate_file:
        return options.certificate_file, options.key_file
    if not options.directory:
        return None
    certificate, key = (Path(options.directory, f"{_PAIR_NAME}.{suffix}") for suffix in ("crt", "key"))
    if not (certificate.exists() and key.exists()):
        made = make_self_signed_in_child("localhost", _addresses(options))
        try:
            certificate.parent.mkdir(parents=True, exist_ok=True)
            _write(key, made.key, 0o600)
            _write(certificate, made.certificate, 0o644)
        except OSError as error:
            raise ConfigError(f"--cert-dir: {options.directory}: {_text(error)}") from error
        log.info("Generated self-signed cert", certificate=str(certificate), key=str(key))
    return str(certificate), str(key)


def _addresses(options: ServingOptions) -> list[str]:
    address = ipaddress.ip_address(options.address)
    return ["127.0.0.1", *([] if address.is_unspecified or str(address) == "127.0.0.1" else [str(address)])]


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """A temporary file for OpenSSL, which reads keys from files only: in memory where the system supports it."""
    in_memory = hasattr(os, "memfd_create") and _OPEN_FILES.exists()
    with open(os.memfd_create(_PAIR_NAME), "wb") if in_memory else NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield str(_OPEN_FILES / str(file.fileno())) if in_memory else str(file.name)


def _write(file: Path, content: bytes, mode: int) -> None:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as opened:
        opened.write(content)


def _read_pair(certificate: str, key: str) -> _Pair:
    return _Pair(f"{certificate}, {key}", _read(certificate), _read(key))


def _read_authorities(file: str) -> str:
    try:
        return _read(file).decode("ascii", errors="replace").replace("\ufffd", "?")
    except ConfigError as error:
        raise ConfigError(f"unable to load client CA provider: {error}") from error


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"open {file}: {_text(error)}") from error


def _text(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no usable PEM certificate with its key ({pem_error_text(error)})"
    return os_error_text(error).lower() if isinstance(error, OSError) else str(error)
