"""What goes wrong between here and the API server.

    StowplanError
    └── ClusterError
        ├── ApiError            the server answered, and refused
        ├── ConnectionFailed    there was no answer, or none that could be read
        │   └── UntrustedServer     whoever answered does not prove to be the server
        └── CredentialsError    there is nothing to log in with

A kubeconfig that cannot be used is a `ConfigError`, as any configuration is. No text carries a secret.
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
"""Kubernetes' word for a status code, for replies that bring none, such as those of a proxy on the way."""

_LONGEST_BODY = 300

_MESSAGE, _REASON, _DETAILS, _CODE = 3, 4, 5, 6
_RETRY_AFTER = 5
"""The numbers of a Status' fields in protobuf, and of one in its details."""


class ClusterError(StowplanError):
    """Any trouble with the cluster's API server."""


class ApiError(ClusterError):
    """A request that the API server refused.

    `status` is the HTTP status code, `reason` Kubernetes' own word (Conflict, NotFound, Expired), `message` what the
    server says, `retry_after` the seconds that it asks to wait before the next try.
    """

    def __init__(self, status: int, reason: str = "", message: str = "", retry_after: float | None = None) -> None:
        self.status = status
        self.reason = reason or _REASONS.get(status, "")
        self.message = message
        self.retry_after = retry_after
        super().__init__(f"{self.reason or 'error'} ({status})" + (f": {message}" if message else ""))

    @classmethod
    def from_reply(cls, status: int, body: bytes, retry_after: str | None = None) -> "ApiError":
        """The error that a reply means: its body is a Kubernetes Status, or whatever a proxy has to say."""
        wait = parse_retry_after(retry_after)
        try:
            told = _read_status(body)
        except (codec.DecodeError, ValueError):
            text = " ".join(body[:_LONGEST_BODY].decode(errors="replace").split())
            return cls(status, "", text, wait)
        return cls.from_status(told, status, wait)

    @classmethod
    def from_status(cls, told: "ApiStatus", status: int = 0, retry_after: float | None = None) -> "ApiError":
        """The error that a Kubernetes Status means, as it also comes in a watch, where no HTTP status goes with it."""
        if retry_after is None and told.details.retry_after_seconds > 0:
            retry_after = float(told.details.retry_after_seconds)
        return cls(status or told.code, told.reason, told.message, retry_after)


class ConnectionFailedError(ClusterError):
    """No answer from the API server: unreachable, cut off, too slow, or not speaking as it should."""


class UntrustedServerError(ConnectionFailedError):
    """A certificate that the trusted authorities did not sign, or that is another's. Waiting does not mend it."""


class CredentialsError(ClusterError):
    """Credentials that cannot be read, or that a plugin does not hand out."""


class StatusDetails(Wire, frozen=True, kw_only=True):
    """The part of a Status that asks for patience."""

    retry_after_seconds: int = 0


class ApiStatus(Wire, frozen=True, kw_only=True):
    """Kubernetes' Status, the body of every refusal."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails = StatusDetails()


def _read_status(body: bytes) -> ApiStatus:
    """A Status as the server writes it: in protobuf where the reply was to be that, else in JSON."""
    if not body.startswith(protobuf.MAGIC):
        return codec.decode(ApiStatus, body)
    told = dict(protobuf.fields(protobuf.opened(body)))
    reason, message, details = (_bytes(told.get(number)) for number in (_REASON, _MESSAGE, _DETAILS))
    retry_after = dict(protobuf.fields(details)).get(_RETRY_AFTER)
    return ApiStatus(
        code=_number(told.get(_CODE)),
        reason=reason.decode(),
        message=message.decode(),
        details=StatusDetails(retry_after_seconds=_number(retry_after)),
    )


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _number(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def parse_retry_after(text: str | None) -> float | None:
    """The seconds of a Retry-After header. Kubernetes never sends a date there."""
    return float(text) if text is not None and text.strip().isdecimal() else None
