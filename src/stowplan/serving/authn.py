"""Authentication: by client certificate, by bearer token (TokenReview), or as system:anonymous.

Upstream: k8s.io/apiserver/pkg/authentication/authenticatorfactory/delegating.go
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.reviews import ApiClient, Review, ReviewCache, create_review

log = logs.get(__name__)

AUTHENTICATED = "system:authenticated"

_COUNTED_USERS = ("admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default")
_PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
_AUTHORITIES = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class UserInfo(NamedTuple):
    """An authenticated user."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))


class _UserInfo(msgspec.Struct, frozen=True, rename="camel"):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True, rename="camel"):
    authenticated: bool = False
    user: _UserInfo = _UserInfo()
    error: str = ""


class _TokenReview(msgspec.Struct, frozen=True, rename="camel"):
    status: _TokenStatus = _TokenStatus()


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class Authenticator:
    """Finds the user of a request. Without a client, tokens are not reviewed."""

    def __init__(self, client: ApiClient | None, ttl: float, metrics: AccessMetrics) -> None:
        self._client = client
        self._ttl = ttl
        self._metrics = metrics
        self._cache = ReviewCache[bytes, UserInfo | None]()
        self._salt = secrets.token_bytes(32)
        self._review = Review(_PATH, metrics.token_reviews, metrics.token_review_duration)

    async def authenticate(self, certificate: Mapping[str, Any] | None, authorization: str) -> UserInfo | None:
        """The user, by the certificate that TLS has verified and the Authorization header.

        None where the token is invalid or could not be reviewed.
        """
        began = monotonic()
        try:
            user = user_of(certificate) or await self._user_of_token(_token(authorization)) or ANONYMOUS
            result = "success"
        except StowplanError as error:
            user, result = None, "error"
            if not isinstance(error, _NotAuthenticatedError):
                log.error(error, "Unable to authenticate the request")
        self._metrics.authentications.series(result).add()
        self._metrics.authentication_duration.series(result).observe(monotonic() - began)
        if user is not None:
            self._metrics.users.series(_counted_as(user.name)).add()
        return user

    async def _user_of_token(self, token: str) -> UserInfo | None:
        if not token or self._client is None:
            return None
        began = monotonic()
        # The cache has hashes of tokens, which are of no use to a reader of the memory.
        key = hmac.digest(self._salt, token.encode(), hashlib.sha256)
        found = self._cache.get(key)
        status = "miss" if found is None else "hit"
        user = await self._fetch(self._client, key, token) if found is None else found[0]
        self._metrics.token_lookups.series(status).add()
        self._metrics.token_lookup_duration.series(status).observe(monotonic() - began)
        if user is None:
            raise _NotAuthenticatedError
        return user

    async def _fetch(self, client: ApiClient, key: bytes, token: str) -> UserInfo | None:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {"creationTimestamp": None},
            "spec": {"token": token},
        }
        self._metrics.fetching.add()
        try:
            review = await create_review(client, self._review, body, _TokenReview)
        except StowplanError:
            self._metrics.token_fetches.series("error").add()
            raise
        finally:
            self._metrics.fetching.add(-1)
        self._metrics.token_fetches.series("error" if review.status.error else "ok").add()
        reviewed = review.status.user
        user = None
        if review.status.authenticated:
            user = UserInfo(reviewed.username, _with_authenticated(reviewed.groups), reviewed.uid, reviewed.extra)
        self._cache.put(key, user, self._ttl)
        return user


def _counted_as(name: str) -> str:
    """The username label of a metric: few names, since there is no limit to the number of users."""
    return name if name in _COUNTED_USERS else "email_id" if "@" in name else "other"


class _NotAuthenticatedError(StowplanError):
    """The API server does not know the token."""


def user_of(certificate: Mapping[str, Any] | None) -> UserInfo | None:
    """The user of a verified client certificate: the common name; organizations are groups."""
    if not certificate:
        return None
    fields = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for field, value in fields if field == "commonName"), "")
    if not name:
        return None
    return UserInfo(name, _with_authenticated(value for field, value in fields if field == "organizationName"))


async def look_up_client_authorities(client: ApiClient) -> str:
    """The cluster's client CA (PEM), from extension-apiserver-authentication; empty if it has none."""
    content = await client.request("GET", _AUTHORITIES, timeout=10.0)
    return msgspec.json.decode(content, type=_ConfigMap).data.get("client-ca-file", "")


def _token(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _with_authenticated(groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*groups, AUTHENTICATED)))
