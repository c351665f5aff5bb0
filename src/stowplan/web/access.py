"""Access to a page on loopback: the token, the cookie, and the checks of Host and Origin.

The printed address has a random token, which `/login` trades for a cookie, so other users of the machine get nothing.
A cookie is sent to every port of a host, so its name has the port, and its value is derived from the token. Pages of
other origins get no answers: the cookie is `SameSite=Strict`, and POST requests have to name their origin.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from stowplan.serving.loopback import MISDIRECTED
from stowplan.serving.pages import Page, status_page

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Server": "stowplan",
}
LOGIN_PATH = "/login"
_SAFE_METHODS = ("GET", "HEAD")
_SAME_ORIGIN_FETCHES = ("", "none", "same-origin")
_HTML = "text/html; charset=utf-8"
_LOGGED_IN = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>Stowplan</title>'
    b'<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Continue to the page</a></p></html>\n'
)
"""A redirect would not do: after a click on a page of another site, browsers follow it without the new cookie."""
_LOGGED_OUT = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>Stowplan</title>'
    b"<p>Open the address that <code>stowplan web</code> printed: it has the token that this page needs.</p></html>\n"
)


class Visit(NamedTuple):
    """The parts of a request that access depends on."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By name, in any case."""


class PageAccess:
    """Decides about requests to one listening address."""

    def __init__(
        self,
        address: str,
        port: int,
        *,
        allowed_hosts: tuple[str, ...] = (),
        tls: bool = False,
        token: str | None = None,
    ) -> None:
        """`allowed_hosts` are further names of this server, with a port or, for any port, without."""
        self.token = token or secrets.token_urlsafe(24)
        self._single_tokens: list[str] = []
        self._address = ipaddress.ip_address(address)
        self._port = port
        self._tls = tls
        self._allowed = frozenset(name.lower() for name in allowed_hosts)
        self._cookie_name = f"stowplan-{port}"
        self._cookie = hmac.digest(self.token.encode(), b"cookie", "sha256").hex()

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return self._login_url(self.token)

    def url_for_one_login(self) -> str:
        """An address whose token works once: other users of the machine see the arguments of the browser's command."""
        token = secrets.token_urlsafe(24)
        self._single_tokens.append(token)
        return self._login_url(token)

    def _login_url(self, token: str) -> str:
        host = "127.0.0.1" if self._address.is_unspecified else str(self._address)
        name = f"[{host}]" if ":" in host else host
        return f"{self._scheme}://{name}:{self._port}{LOGIN_PATH}?token={quote(token, safe='')}"

    def answer(self, visit: Visit) -> Page | None:
        """The response to a login or to a request that is refused; None for a request that is allowed."""
        host = visit.headers.get("Host", "")
        if not self._is_own(host):
            return status_page(MISDIRECTED, "Misdirected", f"this server is not {host[:100]!r}; see --allow-host")
        if visit.path == LOGIN_PATH and visit.method in _SAFE_METHODS:
            return self._login(visit.query)
        if not self._is_known(visit.headers):
            if visit.path == "/":
                return Page(401, _LOGGED_OUT, _HTML)
            return status_page(401, "Unauthorized", "open the address that stowplan web printed")
        if visit.headers.get("Sec-Fetch-Site", "") not in _SAME_ORIGIN_FETCHES and visit.path != "/":
            return status_page(403, "Forbidden", "the request comes from a page of another origin")
        return None if visit.method in _SAFE_METHODS else self._refused_change(visit, host)

    def _refused_change(self, visit: Visit, host: str) -> Page | None:
        """POST requests come from the page itself, and a form of another page cannot send JSON."""
        if visit.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            return status_page(415, "UnsupportedMediaType", "the body has to be application/json")
        origin = visit.headers.get("Origin", "")
        if visit.headers.get("Sec-Fetch-Site", "") == "same-origin" or origin == f"{self._scheme}://{host}":
            return None
        return status_page(403, "Forbidden", "the request has to come from this server's page")

    def _login(self, query: str) -> Page:
        given = parse_qs(query).get("token", [""])[0]
        single = next((token for token in self._single_tokens if _equal(given, token)), None)
        if single is not None:
            self._single_tokens.remove(single)
        elif not _equal(given, self.token):
            return Page(401, _LOGGED_OUT, _HTML)
        secure = "; Secure" if self._tls else ""
        cookie = f"{self._cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/{secure}"
        return Page(200, _LOGGED_IN, _HTML, {"Set-Cookie": cookie})

    def _is_known(self, headers: Mapping[str, str]) -> bool:
        """Whether the request has the cookie, or the token as a bearer token, for programs."""
        scheme, _, bearer = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return _equal(bearer.strip(), self.token)
        # Other programs on this host set cookies too, some of which `http.cookies` does not parse.
        cookies = (part.strip().partition("=") for part in headers.get("Cookie", "").split(";"))
        given = next((value for name, _, value in cookies if name == self._cookie_name), "")
        return _equal(given, self._cookie)

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server. An address as Host cannot come from DNS, so it cannot be rebound."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").rstrip("."), parts.port or (443 if self._tls else 80)
        except ValueError:
            return False
        if name in self._allowed or f"{name}:{port}" in self._allowed:
            return True
        if port != self._port:
            return False
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return False
        return address.is_loopback or not self._address.is_loopback

    @property
    def _scheme(self) -> str:
        return "https" if self._tls else "http"


def _equal(given: str, secret: str) -> bool:
    """Compares in constant time. Headers may have bytes that are not UTF-8."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), secret.encode())
