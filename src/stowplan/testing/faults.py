"""Faults of the proxy, and rules that select requests for them. Plain data."""

import json
import random
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

_WATCH = re.compile(r"[?&]watch=(true|1)\b")


@dataclass(frozen=True)
class Reply:
    """Reply with this status instead of forwarding the request: `Reply(409, "Conflict")`, `Reply(429, retry_after=1)`.

    With `in_watch` the request succeeds, and the error is the only event of the watch.
    """

    status: int
    reason: str = ""
    message: str = "made up by the fault proxy"
    retry_after: int | None = None
    in_watch: bool = False

    def render(self) -> bytes:
        """The whole HTTP response."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": self.status,
            "reason": self.reason,
            "message": self.message,
        }
        body = json.dumps({"type": "ERROR", "object": status} if self.in_watch else status).encode() + b"\n"
        lines = [
            "HTTP/1.1 200 OK" if self.in_watch else f"HTTP/1.1 {self.status} Fault",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *([f"Retry-After: {self.retry_after}"] if self.retry_after is not None else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class Delay:
    """Delay the reply. The request is forwarded at once, so the API server completes it even if the client gives up;
    with `forward=False` the request is delayed too."""

    seconds: float
    forward: bool = True


class Hold:
    """Hold the request until `release()`. The API server never sees a request whose client disconnects meanwhile."""

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True


@dataclass(frozen=True)
class Drop:
    """Close the connection instead of replying; with `forward=True` after the API server has handled the request."""

    forward: bool = False


@dataclass(frozen=True)
class Garble:
    """Insert a frame that is not JSON into a watch, after a number of frames."""

    frame: bytes = b'{"type":"MODIFIED","object":{"kind":"Pod","meta\n'
    after: int = 0


Fault = Reply | Delay | Hold | Drop | Garble


@dataclass
class Rule:
    """A fault and the requests that it applies to; by default all requests.

    method       the HTTP method, such as "POST"
    path         a regular expression that is searched in path and query: "/binding$", "resourceVersion=[1-9]"
    watch        True: watches only; False: other requests only
    times        the number of requests after which the rule no longer applies
    probability  that a matching request gets the fault
    """

    fault: Fault
    method: str = ""
    path: str = ""
    watch: bool | None = None
    times: int | None = None
    probability: float = 1.0
    hits: int = field(default=0, init=False)

    def fits(self, method: str, path: str) -> bool:
        """Whether the rule applies to the request, and is not used up."""
        return (
            (self.times is None or self.hits < self.times)
            and self.method in ("", method)
            and self.watch in (None, is_watch(path))
            and re.search(self.path, path) is not None
        )


class RuleBook:
    """The rules in force. The first that fits a request decides; rules may come and go while requests do."""

    def __init__(self, rules: Iterable[Rule] = (), seed: int = 0) -> None:
        self._rules = list(rules)
        self._dice = random.Random(seed)
        self._lock = threading.Lock()

    def add(self, rule: Rule) -> None:
        with self._lock:
            self._rules.append(rule)

    def remove(self, rule: Rule) -> None:
        """Take this very rule out, if it is in."""
        with self._lock:
            self._rules = [known for known in self._rules if known is not rule]

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The fault that befalls a request, which is counted as a hit of its rule."""
        with self._lock:
            for rule in self._rules:
                if rule.fits(method, path) and self._dice.random() < rule.probability:
                    rule.hits += 1
                    return rule.fault
        return None


def is_watch(path: str) -> bool:
    """Whether the request is a watch."""
    return _WATCH.search(path) is not None
