"""Where the API server is and how to log in to it.

A `Connection` opens no socket: it is what a client has to know before it does. Credentials age, so what changes with
them comes as a `LoginMethod`: the headers and the TLS context to use now.
"""

import asyncio
import platform
import ssl
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from stowplan._version import __version__
from stowplan.cluster.tls import Certificate, Trust, make_context

USER_AGENT = f"stowplan/{__version__} ({platform.system().lower()}/{platform.machine()}) scheduler"


class Identity(NamedTuple):
    """Who we are to the server, for now."""

    headers: dict[str, str]
    certificate: Certificate | None = None
    expires: float = float("inf")
    """When to ask for it again, in seconds since 1970."""


class Credentials(Protocol):
    """Something that hands out identities. It may block, on files or on a program that runs."""

    renewable: bool
    """Whether asking again may bring another identity."""

    def obtain(self) -> Identity:
        """The identity to use now. Raises CredentialsError."""
        ...


class LoginMethod(NamedTuple):
    """What to open connections and send requests with. Compare by identity: another object is another login.

    A connection that was opened with another `tls` than the one here uses an outdated certificate, and is best closed
    when it falls idle.
    """

    headers: dict[str, str]
    tls: ssl.SSLContext | None
    """None where the server speaks plain HTTP."""
    expires: float


class Connection:
    """The way to one API server. Threads may share it."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        trust: Trust | None = None,
        server_name: str | None = None,
        proxy: str | None = None,
        namespace: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(url)
        self.url = url.rstrip("/")
        self.scheme = parts.scheme
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.scheme == "https" else 80)
        self.prefix = parts.path.rstrip("/")
        """What stands before every API path; empty unless the server lives below a path of its host."""
        self.trust = trust or Trust()
        self.server_name = server_name
        """The name that the server's certificate must bear, None for the host's own."""
        self.proxy = proxy
        """The URL of an HTTP proxy to go through, possibly with a password in it."""
        self.namespace = namespace
        """The namespace that the kubeconfig's context names; empty if it names none."""
        self.user_agent = USER_AGENT
        self._credentials = credentials
        self._clock = clock
        self._lock = threading.Lock()
        self._login: LoginMethod | None = None
        self._context: ssl.SSLContext | None = None
        self._made_of: tuple[bytes, Certificate | None] | None = None

    def current(self) -> LoginMethod | None:
        """The login in use, None if it has to be renewed by `login` first."""
        login = self._login
        return login if login is not None and self._clock() < login.expires else None

    async def login(self) -> LoginMethod:
        """The login to use now; what is outdated is renewed on a thread, as it may take a program's run."""
        login = self.current()
        return login if login is not None else await asyncio.to_thread(self.renew)

    def renew(self) -> LoginMethod:
        """The login to use now, for those who may block. Raises CredentialsError."""
        with self._lock:
            login = self.current()
            return login if login is not None else self._renew()

    def invalidate(self, login: LoginMethod) -> bool:
        """Take note that the server refused this login; whether trying again can make a difference."""
        with self._lock:
            if self._login is not login:
                return True  # somebody has renewed it in the meantime
            if self._credentials.renewable:
                self._login = None
            return self._credentials.renewable

    def _renew(self) -> LoginMethod:
        identity = self._credentials.obtain()
        tls, expires = None, identity.expires
        if self.scheme == "https":
            tls = self._tls(identity.certificate)
            expires = min(expires, self.trust.read_again_at(self._clock()))
        login = self._login = LoginMethod(identity.headers, tls, expires)
        return login

    def _tls(self, certificate: Certificate | None) -> ssl.SSLContext:
        """A context is made anew only if its parts have changed, for connections are tied to their context."""
        parts = self.trust.read(), certificate
        if self._context is None or parts != self._made_of:
            self._context, self._made_of = make_context(self.trust, *parts), parts
        return self._context
