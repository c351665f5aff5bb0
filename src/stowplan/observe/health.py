"""Health: named checks, and the pages that tell of them in the words of Kubernetes' own components."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from stowplan import logs

log = logs.get(__name__)

Told = Callable[[str, str, bool], None]
"""Hears of each check that was made: its name, the page, whether it passed."""


class HealthCheck(NamedTuple):
    """Something that can be in order or not. `problem` says what is wrong, None if nothing is."""

    name: str
    problem: Callable[[], str | None]


PING = HealthCheck("ping", lambda: None)


class HealthReply(NamedTuple):
    """An answer over HTTP."""

    status: int
    text: str


class HealthPage:
    """One of /healthz, /livez and /readyz: the page itself, and below it one for each check."""

    def __init__(self, name: str, checks: Collection[HealthCheck] = (), told: Told | None = None) -> None:
        self.name = name
        self.checks = tuple(checks) or (PING,)
        self._told = told

    def report(self, *, verbose: bool = False, exclude: Collection[str] = ()) -> HealthReply:
        """All checks. Reasons are withheld, for the page is open to everyone; they go to the log."""
        lines: list[str] = []
        reasons: dict[str, str] = {}
        for check in self.checks:
            if check.name in exclude:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            problem = check.problem()
            if self._told is not None:
                self._told(check.name, self.name, problem is None)
            if problem is not None:
                reasons[check.name] = problem
            lines.append(f"[+]{check.name} ok\n" if problem is None else f"[-]{check.name} failed: reason withheld\n")
        unknown = sorted(set(exclude).difference(check.name for check in self.checks))
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if reasons:
            log.v(2, "Health check failed", page=self.name, checks=reasons)
            return HealthReply(500, f"{''.join(lines)}{self.name} check failed\n")
        return HealthReply(200, f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def one(self, name: str) -> HealthReply | None:
        """A single check, with its reason: this page is not open to everyone. None if there is no such check."""
        for check in self.checks:
            if check.name == name:
                problem = check.problem()
                return (
                    HealthReply(200, "ok")
                    if problem is None
                    else HealthReply(500, f"internal server error: {problem}\n")
                )
        return None
