"""Authorization: always-allowed paths, always-allowed groups, and SubjectAccessReview for everything else.

Upstream: k8s.io/apiserver/pkg/authorization/authorizerfactory/delegating.go
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from stowplan.config.options import AccessOptions
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.authn import UserInfo
from stowplan.serving.reviews import ApiClient, Review, ReviewCache, create_review

_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MASTERS = "system:masters"


Attributes = Mapping[str, Mapping[str, str]]
"""`nonResourceAttributes` or `resourceAttributes` of a SubjectAccessReview."""


class Authorization(NamedTuple):
    """Whether a request is allowed, and the reason if it is not."""

    allowed: bool
    reason: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    allowed: bool = False
    denied: bool = False
    reason: str = ""


class _SubjectAccessReview(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class Authorizer:
    """Decides about requests. Without a client, only always-allowed paths and groups are allowed."""

    def __init__(self, client: ApiClient | None, options: AccessOptions, metrics: AccessMetrics) -> None:
        self._client = client
        self._options = options
        self._metrics = metrics
        self._open = frozenset(path for path in options.open_paths if not path.endswith("*"))
        self._open_below = tuple(path[:-1] for path in options.open_paths if path.endswith("*"))
        self._cache = ReviewCache[bytes, Authorization]()
        self._review = Review(_PATH, metrics.access_reviews, metrics.access_review_duration)

    async def authorize(self, user: UserInfo, path: str, attributes: Attributes) -> Authorization:
        """Whether the user may do what the attributes describe; `path` is empty for resources. Raises StowplanError if
        the review fails."""
        began = monotonic()
        result = "error"
        try:
            decision = await self._decide(user, path, attributes)
            result = "allowed" if decision.allowed else "no-opinion"
        finally:
            self._metrics.authorizations.series(result).add()
            self._metrics.authorization_duration.series(result).observe(monotonic() - began)
        return decision

    async def _decide(self, user: UserInfo, path: str, attributes: Attributes) -> Authorization:
        if _MASTERS in user.groups or (path and (path in self._open or path.startswith(self._open_below))):
            return Authorization(True)
        if self._client is None:
            return Authorization(False)
        spec = _spec(user, attributes)
        key = msgspec.json.encode(spec)
        found = self._cache.get(key)
        if found is not None:
            return found[0]
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {"creationTimestamp": None},
            "spec": spec,
        }
        status = (await create_review(self._client, self._review, body, _SubjectAccessReview)).status
        decision = Authorization(status.allowed and not status.denied, status.reason)
        self._cache.put(key, decision, self._options.allowed_ttl if decision.allowed else self._options.denied_ttl)
        return decision


def _spec(user: UserInfo, attributes: Attributes) -> dict[str, Any]:
    spec: dict[str, Any] = {"user": user.name, **attributes}
    optional = {"groups": list(user.groups), "uid": user.uid, "extra": dict(user.extra)}
    return spec | {name: value for name, value in optional.items() if value}
