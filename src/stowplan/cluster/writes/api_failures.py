"""Maps API errors and lost connections to `Failure`."""

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
MAX_ATTEMPTS = 4
"""Attempts to write a status that fails temporarily, as in kube-scheduler."""

_OTHER_UID = ("UID in precondition", "UID in the precondition", "metadata.uid: Invalid value")
_PASSING = ("InternalError", "ServiceUnavailable", "Conflict", UNREACHABLE, TIMEOUT)


def refused(status: int, body: bytes) -> Failure:
    """The server rejected the request."""
    error = ApiError.from_reply(status, body)
    return Failure(error.message or str(error), error.reason)


def lost(error: ClusterError, sent: bool) -> Failure:
    """There was no reply."""
    reason = NOT_LEADER if isinstance(error, NotLeaderError) else TIMEOUT if sent else UNREACHABLE
    return Failure(str(error), reason)


def is_passing(failure: Failure) -> bool:
    """Whether an idempotent request is retried: when kube-scheduler retries, and when the reply was lost."""
    return failure.reason in _PASSING


def is_gone(failure: Failure) -> bool:
    """Whether the object no longer exists, even if another one has its name."""
    return failure.reason == "NotFound" or any(text in failure.message for text in _OTHER_UID)
