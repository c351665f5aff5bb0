"""Letting visitors in, or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan import logs
from stowplan.config.options import AccessOptions
from stowplan.errors import StowplanError
from stowplan.logs.format import quote
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.authn import Authenticator
from stowplan.serving.authz import Authorizer
from stowplan.serving.pages import Page, status_page
from stowplan.serving.reviews import ApiClient

log = logs.get(__name__)

_UNAUTHORIZED = status_page(401, "Unauthorized", "Unauthorized")


class AccessControl:
    """First who it is, then what they may do."""

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
        """What to answer instead of what was asked for; None for a visitor who is let in."""
        user = await self._authenticator.authenticate(certificate, authorization)
        if user is None:
            return _UNAUTHORIZED
        verb = method.lower()
        try:
            verdict = await self._authorizer.authorize(user, verb, path)
        except StowplanError as error:
            log.error(error, "Unable to authorize the request", user=user.name, path=path)
            return Page(500, f"Internal Server Error: {quote(path)}: {error}\n".encode())
        if verdict.allowed:
            return None
        reason = f": {verdict.reason}" if verdict.reason else ""
        message = f"forbidden: User {quote(user.name)} cannot {verb} path {quote(path)}{reason}"
        return status_page(403, "Forbidden", message, details={})
