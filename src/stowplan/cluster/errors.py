"""Errors of requests to the API server.

    StowplanError
    └── ClusterError
        ├── ApiError                    the server rejected the request
        ├── ConnectionFailedError       no reply, or an unreadable one
        │   └── UntrustedServerError    the server's certificate is not trusted
        └── CredentialsError            the credentials cannot be obtained

An invalid kubeconfig is a `ConfigError`. No text contains a secret.

Upstream: k8s.io/apimachinery/pkg/api/errors/errors.go
"""

from stowplan.api import codec
from stowplan.api.meta import Wire
from stowplan.cluster import protobuf
from stowplan.errors import StowplanError

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""Reason by status code, for replies without a Status, such as a proxy's."""

_MAX_BODY_CHARACTERS = 300

_MESSAGE, _REASON, _DETAILS, _CODE = 3, 4, 5, 6
_RETRY_AFTER = 5
"""Field numbers of Status in protobuf, and of retryAfterSeconds in its details."""


class ClusterError(StowplanError):
    """Base of all errors here."""


class ApiError(ClusterError):
    """A request that the API server rejected.

    `status` is the HTTP status code, `reason` Kubernetes' reason (Conflict, NotFound, Expired), `message` the server's
    text, `retry_after` the seconds of Retry-After.
    """

    def __init__(self, status: int, reason: str = "", message: str = "", retry_after: float | None = None) -> None:
        self.status = status
        self.reason = reason or _REASONS.get(status, "")
        self.message = message
        self.retry_after = retry_after
        super().__init__(f"{self.reason or 'error'} ({status})" + (f": {message}" if message else ""))

    @classmethod
    def from_reply(cls, status: int, body: bytes, retry_after: str | None = None) -> "ApiError":
        """The error of a reply, whose body is a Status or a proxy's text."""
        wait = parse_retry_after(retry_after)
        try:
            found = _read_status(body)
        except (codec.DecodeError, ValueError):
            text = " ".join(body[:_MAX_BODY_CHARACTERS].decode(errors="replace").split())
            return cls(status, "", text, wait)
        return cls.from_status(found, status, wait)

    @classmethod
    def from_status(cls, found: "ApiStatus", status: int = 0, retry_after: float | None = None) -> "ApiError":
        """The error of a Status; in a watch it comes without an HTTP status."""
        if retry_after is None and found.details.retry_after_seconds > 0:
            retry_after = float(found.details.retry_after_seconds)
        return cls(status or found.code, found.reason, found.message, retry_after)


class ConnectionFailedError(ClusterError):
    """No usable reply from the API server: unreachable, disconnected, too slow, or not HTTP."""


class UntrustedServerError(ConnectionFailedError):
    """The server's certificate is not signed by a trusted authority, or has another name. Retrying does not help."""


class CredentialsError(ClusterError):
    """Credentials cannot be read, or the exec plugin fails."""


class StatusDetails(Wire, frozen=True, kw_only=True):
    """The part of Status with retryAfterSeconds."""

    retry_after_seconds: int = 0


class ApiStatus(Wire, frozen=True, kw_only=True):
    """metav1.Status, the body of an error reply."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails = StatusDetails()


def _read_status(body: bytes) -> ApiStatus:
    """A Status in protobuf or JSON."""
    if not body.startswith(protobuf.MAGIC):
        return codec.decode(ApiStatus, body)
    found = dict(protobuf.fields(protobuf.opened(body)))
    reason, message, details = (_bytes(found.get(number)) for number in (_REASON, _MESSAGE, _DETAILS))
    retry_after = dict(protobuf.fields(details)).get(_RETRY_AFTER)
    return ApiStatus(
        code=_number(found.get(_CODE)),
        reason=reason.decode(),
        message=message.decode(),
        details=StatusDetails(retry_after_seconds=_number(retry_after)),
    )


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _number(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def parse_retry_after(text: str | None) -> float | None:
    """Seconds of a Retry-After header. Kubernetes never sends a date."""
    return float(text) if text is not None and text.strip().isdecimal() else None
