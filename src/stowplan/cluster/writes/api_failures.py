"""What a request that came to nothing means to the engine."""

from __future__ import annotations

from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.write_client import NotLeaderError
from stowplan.framework import Failure

TIMEOUT = "Timeout"
NOT_LEADER = "NotLeader"
UNREACHABLE = "Unreachable"

SUCCESS = 300
"""Statuses below this are successes."""
CONFLICT, SERVER_ERROR = 409, 500
ATTEMPTS = 4
"""How often kube-scheduler writes a status whose writing fails in passing."""

_OTHER_UID = ("UID in precondition", "UID in the precondition", "metadata.uid: Invalid value")
_PASSING = ("InternalError", "ServiceUnavailable", "Conflict", UNREACHABLE, TIMEOUT)


def refused(status: int, body: bytes) -> Failure:
    """The server said no."""
    error = ApiError.from_reply(status, body)
    return Failure(error.message or str(error), error.reason)


def lost(error: ClusterError, sent: bool) -> Failure:
    """The server said nothing."""
    reason = NOT_LEADER if isinstance(error, NotLeaderError) else TIMEOUT if sent else UNREACHABLE
    return Failure(str(error), reason)


def is_passing(failure: Failure) -> bool:
    """Whether to try again what may be done twice: when kube-scheduler does, and when the reply got lost."""
    return failure.reason in _PASSING


def is_gone(failure: Failure) -> bool:
    """Whether the object that the request was about is no more, even if there is another one of its name."""
    return failure.reason == "NotFound" or any(text in failure.message for text in _OTHER_UID)
