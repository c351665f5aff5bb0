"""Address and credentials of an API server.

A `Connection` opens no socket. Credentials expire, so a client obtains the current headers and TLS context as a
`LoginMethod`.

Upstream: k8s.io/client-go/rest/config.go, k8s.io/client-go/transport
"""

import asyncio
import platform
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from stowplan._version import __version__
from stowplan.cluster.tls import Certificate, Trust, make_context

USER_AGENT = f"stowplan/{__version__} ({platform.system().lower()}/{platform.machine()}) scheduler"


class Identity(NamedTuple):
    """Current credentials: headers and a client certificate."""

    headers: dict[str, str]
    certificate: Certificate | None = None
    expires: float = float("inf")
    """When to obtain them again, in seconds since 1970."""


class Credentials(Protocol):
    """Source of identities. May block on files or on an exec plugin."""

    renewable: bool
    """Whether obtaining again may return another identity."""

    def obtain(self) -> Identity:
        """The identity to use now. Raises CredentialsError."""
        ...


class LoginMethod(NamedTuple):
    """Headers and TLS context of requests. Compared by identity: another object is another login.

    A connection that was opened with another `tls` uses an outdated certificate and is closed when idle.
    """

    headers: dict[str, str]
    tls: ssl.SSLContext | None
    """None for plain HTTP."""
    expires: float


class Connection:
    """Address and credentials of one API server. Thread-safe."""

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
        """Prefix of every API path; empty unless the server is below a path of its host."""
        self.trust = trust or Trust()
        self.server_name = server_name
        """Name that the server's certificate must have; None for the host's."""
        self.proxy = proxy
        """URL of an HTTP proxy; may contain a password."""
        self.namespace = namespace
        """Namespace of the kubeconfig's context; may be empty."""
        self.user_agent = USER_AGENT
        self._credentials = credentials
        self._clock = clock
        self._lock = threading.Lock()
        self._renewal_lock = threading.Lock()
        self._pending_renewal: Future[LoginMethod] | None = None
        self._login: LoginMethod | None = None
        self._context: ssl.SSLContext | None = None
        self._made_of: tuple[bytes, Certificate | None] | None = None

    def head(self, login: LoginMethod) -> bytes:
        """The header lines that all requests have."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        headers = {"Host": f"{host}:{self.port}", "User-Agent": self.user_agent, **login.headers}
        return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")

    def current(self) -> LoginMethod | None:
        """The current login; None if `login` has to renew it first."""
        login = self._login
        return login if login is not None and self._clock() < login.expires else None

    async def login(self) -> LoginMethod:
        """The current login; an expired one is renewed on a thread, since an exec plugin may run.

        A daemon thread, on which the end of the process does not wait.
        """
        login = self.current()
        return login if login is not None else await asyncio.wrap_future(self._renewal())

    def _renewal(self) -> Future[LoginMethod]:
        """The renewal that is under way, for all who wait for one."""
        with self._renewal_lock:
            renewal = self._pending_renewal
            if renewal is None:
                renewal = self._pending_renewal = Future()
                renewal.set_running_or_notify_cancel()  # A caller that gives up cancels it for itself only.
                threading.Thread(target=self._settle, args=(renewal,), name="credentials", daemon=True).start()
        return renewal

    def _settle(self, renewal: Future[LoginMethod]) -> None:
        login, problem = None, None
        try:
            login = self.renew()
        except BaseException as raised:
            problem = raised
        with self._renewal_lock:
            self._pending_renewal = None
        if login is not None:
            renewal.set_result(login)
        else:
            renewal.set_exception(problem)

    def renew(self) -> LoginMethod:
        """The current login; blocks while it is renewed. Raises CredentialsError."""
        with self._lock:
            login = self.current()
            return login if login is not None else self._renew()

    def invalidate(self, login: LoginMethod) -> bool:
        """Record that the server rejected this login. Returns whether a retry may succeed."""
        with self._lock:
            if self._login is not login:
                return True  # Renewed in the meantime.
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
        """The context; a new one only if its parts have changed, since connections are tied to their context."""
        parts = self.trust.read(), certificate
        if self._context is None or parts != self._made_of:
            self._context, self._made_of = make_context(self.trust, *parts), parts
        return self._context
