"""A client of an API server that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from stowplan.cluster.errors import ApiError

Answer = Callable[[Mapping[str, Any]], Any]


class FakeClient:
    """Answers by path; an answer that is an exception is raised."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, Any]] = []
        self.closed = False

    async def request(self, method: str, path: str, body: bytes | None = None, *, timeout: float = 60.0) -> bytes:
        sent = json.loads(body) if body else {}
        self.asked.append((path, sent))
        answer = self.answers.get(path)
        outcome = ApiError(404, "NotFound", "no such path") if answer is None else answer(sent)
        if isinstance(outcome, Exception):
            raise outcome
        return json.dumps(outcome).encode()

    async def close(self) -> None:
        self.closed = True


TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
RIGHTS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def review_tokens(users: Mapping[str, str]) -> Answer:
    """Knows these tokens."""

    def review(body: Mapping[str, Any]) -> Any:
        name = users.get(body["spec"]["token"])
        if name is None:
            return {"status": {"authenticated": False, "error": "unknown"}}
        return {"status": {"authenticated": True, "user": {"username": name, "uid": "7", "groups": ["team"]}}}

    return review


def review_rights(allowed: Mapping[str, set[str]]) -> Answer:
    """Lets users do what is listed: "verb path" or "verb resource"."""

    def review(body: Mapping[str, Any]) -> Any:
        spec = body["spec"]
        attributes = spec.get("nonResourceAttributes") or spec["resourceAttributes"]
        wanted = f"{attributes['verb']} {attributes.get('path') or attributes['resource']}"
        return {"status": {"allowed": wanted in allowed.get(spec["user"], set()), "reason": ""}}

    return review
