"""Authentication and authorization of requests.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/authentication.go,
k8s.io/apiserver/pkg/endpoints/filters/authorization.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan import logs
from stowplan.config.options import AccessOptions
from stowplan.errors import StowplanError
from stowplan.logs.format import quote
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.authn import Authenticator
from stowplan.serving.authz import Attributes, Authorizer
from stowplan.serving.pages import Page, status_page
from stowplan.serving.reviews import ApiClient

log = logs.get(__name__)

_UNAUTHORIZED = status_page(401, "Unauthorized", "Unauthorized")


class AccessControl:
    """Authenticates a client, then authorizes its request."""

    def __init__(
        self,
        options: AccessOptions,
        metrics: AccessMetrics,
        authentication: ApiClient | None,
        authorization: ApiClient | None,
    ) -> None:
        self._authenticator = Authenticator(authentication, options.token_ttl, metrics)
        self._authorizer = Authorizer(authorization, options, metrics)

    async def refusal(
        self, method: str, path: str, authorization: str, certificate: Mapping[str, Any] | None
    ) -> Page | None:
        """The response to a request that is refused; None for one that is allowed."""
        verb = method.lower()
        attributes = {"nonResourceAttributes": {"path": path, "verb": verb}}
        return await self._refusal(path, authorization, certificate, attributes, f"{verb} path {quote(path)}")

    async def refusal_of_pods(self, authorization: str, certificate: Mapping[str, Any] | None) -> Page | None:
        """The response to a client that may not list pods in all namespaces."""
        attributes = {"resourceAttributes": {"verb": "list", "version": "v1", "resource": "pods"}}
        what = 'list resource "pods" in API group "" at the cluster scope'
        return await self._refusal("", authorization, certificate, attributes, what)

    async def _refusal(
        self,
        path: str,
        authorization: str,
        certificate: Mapping[str, Any] | None,
        attributes: Attributes,
        what: str,
    ) -> Page | None:
        user = await self._authenticator.authenticate(certificate, authorization)
        if user is None:
            return _UNAUTHORIZED
        try:
            decision = await self._authorizer.authorize(user, path, attributes)
        except StowplanError as error:
            log.error(error, "Unable to authorize the request", user=user.name, path=path)
            return Page(500, f"Internal Server Error: {quote(path)}: {error}\n".encode())
        if decision.allowed:
            return None
        reason = f": {decision.reason}" if decision.reason else ""
        message = f"forbidden: User {quote(user.name)} cannot {what}{reason}"
        return status_page(403, "Forbidden", message, details={})
