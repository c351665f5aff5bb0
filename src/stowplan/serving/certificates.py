"""The server's own certificate, and the authorities whose client certificates it believes."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from pathlib import Path

from stowplan.errors import ConfigError
from stowplan.observe import logs
from stowplan.serving.options import ServingOptions
from stowplan.serving.self_signed import SelfSigned, make_self_signed

log = logs.get(__name__)

_PAIR = "kube-scheduler"
_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


class ServerTLS:
    """A TLS context for the server, kept up to date with the files that it was made of."""

    def __init__(self, options: ServingOptions, client_ca_file: str = "") -> None:
        """Raises ConfigError where certificates cannot be had."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._set_policy(options)
        self._pair = _find_pair(options)
        self._client_ca_file = client_ca_file
        self._seen: dict[str, tuple[int, int]] = {}
        if self._pair is None:
            _load_made(self.context, make_self_signed("localhost", _addresses(options)))
            log.info("Generated self-signed cert in-memory")
        self._load()

    def _set_policy(self, options: ServingOptions) -> None:
        self.context.minimum_version = _VERSIONS[options.minimum_tls]
        self.context.set_alpn_protocols(["http/1.1"])
        if options.cipher_suites:
            try:
                self.context.set_ciphers(":".join(options.cipher_suites))
            except ssl.SSLError as error:
                raise ConfigError(f"--tls-cipher-suites: OpenSSL has none of these: {error}") from error

    def trust_clients(self, authorities: str) -> None:
        """Ask clients for certificates, and believe those that these authorities (PEM) signed."""
        try:
            self.context.load_verify_locations(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"client authorities: {_why(error)}") from error
        self.context.verify_mode = ssl.CERT_OPTIONAL

    def reload(self) -> None:
        """Read files again that have changed. What cannot be read is left as it was."""
        try:
            self._load()
        except ConfigError as error:
            log.error(error, "Failed to reload certificates, the old ones stay in use")

    def _load(self) -> None:
        if self._pair is not None and self._changed(*self._pair):
            certificate, key = self._pair
            try:
                self.context.load_cert_chain(certificate, key)
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(f"{certificate}, {key}: {_why(error)}") from error
        if self._client_ca_file and self._changed(self._client_ca_file):
            self.trust_clients(_read(self._client_ca_file))

    def _changed(self, *files: str) -> bool:
        """Whether any of the files is another one than last time."""
        found = {}
        for file in files:
            try:
                status = os.stat(file)
            except OSError as error:
                raise ConfigError(f"open {file}: {_why(error)}") from error
            found[file] = (status.st_mtime_ns, status.st_ino)
        changed = any(self._seen.get(file) != seen for file, seen in found.items())
        self._seen |= found
        return changed


def _find_pair(options: ServingOptions) -> tuple[str, str] | None:
    """The files with certificate and key; None where they are to be made up in memory."""
    if options.certificate_file:
        return options.certificate_file, options.key_file
    if not options.directory:
        return None
    certificate, key = (Path(options.directory, f"{_PAIR}.{suffix}") for suffix in ("crt", "key"))
    if not (certificate.exists() and key.exists()):
        made = make_self_signed("localhost", _addresses(options))
        try:
            certificate.parent.mkdir(parents=True, exist_ok=True)
            _write(key, made.key, 0o600)
            _write(certificate, made.certificate, 0o644)
        except OSError as error:
            raise ConfigError(f"--cert-dir: {options.directory}: {_why(error)}") from error
        log.info("Generated self-signed cert", certificate=str(certificate), key=str(key))
    return str(certificate), str(key)


def _addresses(options: ServingOptions) -> list[str]:
    address = ipaddress.ip_address(options.address)
    return ["127.0.0.1", *([] if address.is_unspecified or str(address) == "127.0.0.1" else [str(address)])]


def _load_made(context: ssl.SSLContext, made: SelfSigned) -> None:
    """OpenSSL reads keys from files only, so there is one for as long as that takes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pair.pem")
        _write(file, made.certificate + made.key, 0o600)
        context.load_cert_chain(file)


def _write(file: Path, content: bytes, mode: int) -> None:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as opened:
        opened.write(content)


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii", errors="replace").replace("\ufffd", "?")
    except OSError as error:
        raise ConfigError(f"unable to load client CA provider: open {file}: {_why(error)}") from error


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        told = (error.reason or "not in PEM format").replace("_", " ").lower()
        return f"no usable PEM certificate with its key ({told})"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)
