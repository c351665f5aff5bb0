"""Go's texts for errors of TLS connections, which OpenSSL reports in words and numbers of its own.

OpenSSL's error number is 1 for every failure, which as an errno is EPERM.

Upstream: crypto/tls/alert.go, crypto/tls/conn.go, crypto/x509/verify.go, net/http/client.go (ErrSchemeMismatch)
"""

from __future__ import annotations

import _ssl
import ssl
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from stowplan import logs

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

log = logs.get(__name__)

_ALERTS = {
    "SSLV3_ALERT_UNEXPECTED_MESSAGE": "unexpected message",
    "SSLV3_ALERT_BAD_RECORD_MAC": "bad record MAC",
    "TLSV1_ALERT_DECRYPTION_FAILED": "decryption failed",
    "TLSV1_ALERT_RECORD_OVERFLOW": "record overflow",
    "SSLV3_ALERT_DECOMPRESSION_FAILURE": "decompression failure",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake failure",
    "SSLV3_ALERT_BAD_CERTIFICATE": "bad certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "unsupported certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "revoked certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "expired certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "unknown certificate",
    "SSLV3_ALERT_ILLEGAL_PARAMETER": "illegal parameter",
    "TLSV1_ALERT_UNKNOWN_CA": "unknown certificate authority",
    "TLSV1_ALERT_ACCESS_DENIED": "access denied",
    "TLSV1_ALERT_DECODE_ERROR": "error decoding message",
    "TLSV1_ALERT_DECRYPT_ERROR": "error decrypting message",
    "TLSV1_ALERT_EXPORT_RESTRICTION": "export restriction",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol version not supported",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": "insufficient security level",
    "TLSV1_ALERT_INTERNAL_ERROR": "internal error",
    "TLSV1_ALERT_INAPPROPRIATE_FALLBACK": "inappropriate fallback",
    "TLSV1_ALERT_USER_CANCELLED": "user canceled",
    "TLSV1_ALERT_NO_RENEGOTIATION": "no renegotiation",
    "TLSV13_ALERT_MISSING_EXTENSION": "missing extension",
    "TLSV1_UNSUPPORTED_EXTENSION": "unsupported extension",
    "TLSV1_CERTIFICATE_UNOBTAINABLE": "certificate unobtainable",
    "TLSV1_UNRECOGNIZED_NAME": "unrecognized name",
    "TLSV1_BAD_CERTIFICATE_STATUS_RESPONSE": "bad certificate status response",
    "TLSV1_BAD_CERTIFICATE_HASH_VALUE": "bad certificate hash value",
    "TLSV1_ALERT_UNKNOWN_PSK_IDENTITY": "unknown PSK identity",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "certificate required",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "no application protocol",
}
"""Go's text of an alert that the server sent, by OpenSSL's reason."""

_HTTP_RESPONSE = "HTTP_RESPONSE"
_FAILURES = {
    _HTTP_RESPONSE: "http: server gave HTTP response to HTTPS client",
    "WRONG_VERSION_NUMBER": "tls: first record does not look like a TLS handshake",
    "RECORD_LAYER_FAILURE": "tls: first record does not look like a TLS handshake",
    "UNSUPPORTED_PROTOCOL": "tls: server selected unsupported protocol version",
    "UNEXPECTED_EOF_WHILE_READING": "EOF",
}
"""Go's text of other failures, by OpenSSL's reason; the first reason is ours."""

_UNKNOWN_AUTHORITY = "certificate signed by unknown authority"
_EXPIRED = "certificate has expired or is not yet valid"
_VERIFICATION = {
    2: _UNKNOWN_AUTHORITY,
    9: _UNKNOWN_AUTHORITY,
    10: _UNKNOWN_AUTHORITY,
    18: _UNKNOWN_AUTHORITY,
    19: _UNKNOWN_AUTHORITY,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
    24: "certificate is not authorized to sign other certificates",
    25: "too many intermediates for path length constraint",
    26: "certificate specifies an incompatible key usage",
    47: "a root or intermediate certificate is not authorized to sign for this name",
    48: "a root or intermediate certificate is not authorized to sign for this name",
    79: "certificate is not authorized to sign other certificates",
}
"""Go's text of a failed verification, by OpenSSL's X509_V_ERR code, where the server's certificate itself is valid in
time and name. 9 and 10, not yet valid and expired, then concern the authority, which Go does not count as one."""

_MAX_NAMES = 100
"""From this many names on, their number is reported instead."""


def tls_error_text(error: BaseException | None) -> str:
    """Go's text of an error of OpenSSL, also of one that aiohttp wrapped; empty for any other error."""
    error = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if not isinstance(error, ssl.SSLError):
        error = None if error is None else error.__cause__
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {error.verify_message}"
    if not isinstance(error, ssl.SSLError):
        return ""
    reason = error.reason or ""
    if reason in _ALERTS:
        return f"remote error: tls: {_ALERTS[reason]}"
    return _FAILURES.get(reason) or f"tls: {reason.replace('_', ' ').lower() or error.strerror or error}"


class ClientSSLObject(ssl.SSLObject):
    """The TLS layer of a client. `verify_message` of its verification errors is Go's text, for which the server's
    certificate is needed; `reason` identifies a server that speaks plain HTTP."""

    _sslobj: Any
    incoming: ssl.MemoryBIO
    """The bytes that the server sent; set once."""
    _first_bytes = b""

    def do_handshake(self) -> None:
        if len(self._first_bytes) < 5 and self.incoming.pending:
            received = self.incoming.read()
            self.incoming.write(received)
            self._first_bytes = received[:5]
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            error.verify_message = self._verification_text(error)
            raise
        except ssl.SSLError as error:
            if self._first_bytes == b"HTTP/":
                error.reason = _HTTP_RESPONSE
            raise

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        try:
            # Not through super(): this runs several times per request.
            return self._sslobj.read(len) if buffer is None else self._sslobj.read(len, buffer)
        except ssl.SSLError as error:
            if error.reason in _ALERTS and isinstance(self.context, ClientSSLContext):
                self.context.alert = error
            raise

    def _verification_text(self, error: ssl.SSLCertVerificationError) -> str:
        from cryptography.x509 import load_der_x509_certificate

        text = ""
        try:
            chain = vars(self)["_sslobj"].get_unverified_chain() or ()
            certificates = [load_der_x509_certificate(each.public_bytes(_ssl.ENCODING_DER)) for each in chain]
            text = verification_text(certificates, self.server_hostname or "", datetime.now(UTC))
        except Exception as problem:  # A certificate that only OpenSSL can read.
            log.v(4, "Certificate cannot be read", server=self.server_hostname, err=problem)
        return text or f"x509: {_VERIFICATION.get(error.verify_code, error.verify_message)}"


class ClientSSLContext(ssl.SSLContext):
    """A context whose connections report errors as ClientSSLObject does."""

    sslobject_class = ClientSSLObject
    alert: ssl.SSLError | None = None
    """The last alert of a server after a handshake. In TLS 1.3 it is the answer to a missing or rejected client
    certificate, and a request that is being written then fails for the closed connection alone."""

    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, *args, **kwargs)
        if isinstance(made, ClientSSLObject):
            made.incoming = incoming
        return made


def verification_text(chain: list[Certificate], host: str, now: datetime) -> str:
    """Go's text for certificates of a server that are not valid now, or not for the host; empty if they are. Go checks
    this first, OpenSSL after the authorities."""
    invalid = _expired(chain[:1], now) or (_wrong_name(chain[0], host) if chain else "") or _expired(chain[1:], now)
    return f"x509: {invalid}" if invalid else ""


def _expired(chain: list[Certificate], now: datetime) -> str:
    for certificate in chain:
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if not begin <= now <= end:
            than = f"is before {_rfc3339(begin)}" if now < begin else f"is after {_rfc3339(end)}"
            return f"{_EXPIRED}: current time {_rfc3339(now)} {than}"
    return ""


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _wrong_name(certificate: Certificate, host: str) -> str:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        common_names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        if any(_matches(str(name.value), host) for name in common_names):
            return "certificate relies on legacy Common Name field, use SANs instead"
        names = x509.SubjectAlternativeName([])
    if _is_address(host):
        valid = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
        kind, matched = "IP SANs", str(ip_address(host)) in valid
        if not valid:
            return f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
    else:
        valid = names.get_values_for_type(x509.DNSName)
        kind, matched = "names", any(_matches(name, host) for name in valid)
    if matched:
        return ""
    if not valid:
        return f"certificate is not valid for any names, but wanted to match {host}"
    if len(valid) >= _MAX_NAMES:
        return f"certificate is valid for {len(valid)} {kind}, but none matched {host}"
    return f"certificate is valid for {', '.join(valid)}, not {host}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _matches(pattern: str, host: str) -> bool:
    """Whether a name of a certificate is that of the host; `*` stands for the first label."""
    wanted, labels = pattern.lower().split("."), host.lower().rstrip(".").split(".")
    return len(wanted) == len(labels) and wanted[1:] == labels[1:] and wanted[0] in ("*", labels[0])
