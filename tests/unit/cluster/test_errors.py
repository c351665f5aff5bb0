import json

import pytest

from stowplan.cluster.errors import ApiError, ApiStatus, StatusDetails, parse_retry_after
from stowplan.cluster.protobuf import envelope, field, number_field, sealed


def test_a_refusal_is_read_from_kubernetes_status() -> None:
    body = json.dumps({"kind": "ApiStatus", "code": 409, "reason": "Conflict", "message": "changed", "details": None})
    error = ApiError.from_reply(409, body.encode())
    assert (error.status, error.reason, error.message, error.retry_after) == (409, "Conflict", "changed", None)
    assert str(error) == "Conflict (409): changed"


def test_a_refusal_is_read_from_protobuf() -> None:
    details = field(1, b"web") + number_field(5, 3)
    message = field(1, b"") + field(2, b"Failure") + field(3, "für web".encode()) + field(4, b"Conflict")
    body = sealed(envelope(b"v1", b"ApiStatus"), message + field(5, details) + number_field(6, 409))
    error = ApiError.from_reply(409, body)
    assert (error.status, error.reason, error.message, error.retry_after) == (409, "Conflict", "für web", 3.0)


@pytest.mark.parametrize("body", [b"k8s\0", b"k8s\0\x12\x02\x1a\x09", b"k8s\0\x12\x03\x1a\x01\xff"])
def test_protobuf_that_cannot_be_read_leaves_the_status(body: bytes) -> None:
    assert ApiError.from_reply(409, body).reason == "Conflict"


def test_a_refusal_that_is_no_status_tells_what_came() -> None:
    error = ApiError.from_reply(503, b"<html>\n  upstream down </html>", "7")
    assert (error.reason, error.message, error.retry_after) == (
        "ServiceUnavailable",
        "<html> upstream down </html>",
        7.0,
    )


def test_a_long_body_is_cut() -> None:
    assert len(ApiError.from_reply(500, b"x" * 10_000).message) == 300


def test_an_empty_body_leaves_the_status_alone() -> None:
    assert str(ApiError.from_reply(418, b"")) == "error (418)"


@pytest.mark.parametrize(
    ("header", "details", "expected"), [("3", 9, 3.0), (None, 9, 9.0), (None, 0, None), ("soon", 0, None)]
)
def test_the_header_wins_over_the_status_when_to_retry(
    header: str | None, details: int, expected: float | None
) -> None:
    status = ApiStatus(code=429, details=StatusDetails(retry_after_seconds=details))
    assert ApiError.from_status(status, 429, parse_retry_after(header)).retry_after == expected


def test_in_a_watch_the_code_is_in_the_status() -> None:
    error = ApiError.from_status(ApiStatus(code=410, reason="Expired", message="too old resource version"))
    assert (error.status, error.reason) == (410, "Expired")
