"""Replies that every release of kube-scheduler reads.

Keys are spelled as in Go by default, which case-sensitive clients expect too. The lower-case spelling is that of the
public types of old releases, for clients written against extenders of that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

Mode = Literal["names", "nodes"]
"""The list that a request, and its reply, uses."""

_encode = msgspec.json.encode

_LOWER = {
    "Nodes": "nodes",
    "NodeNames": "nodenames",
    "FailedNodes": "failedNodes",
    "FailedAndUnresolvableNodes": "failedAndUnresolvableNodes",
    "Error": "error",
    "Host": "host",
    "Score": "score",
    "NodeNameToMetaVictims": "nodeNameToMetaVictims",
    "Pods": "pods",
    "UID": "uid",
    "NumPDBViolations": "numPDBViolations",
}


def key(name: str, lower_case: bool) -> str:
    return _LOWER[name] if lower_case else name


def write_filter_result(
    mode: Mode,
    passing: Sequence[str] | Sequence[bytes],
    failed: Mapping[str, str],
    unresolvable: Mapping[str, str],
    error: str = "",
    *,
    lower_case: bool = False,
) -> bytes:
    """`passing` are names, or full nodes, whose bytes are sent unchanged. With an error there are no nodes."""
    nodes = names = b"null"
    if not error:
        if mode == "nodes":
            nodes = b"".join((b'{"metadata":{},"items":[', b",".join(passing), b"]}"))  # type: ignore[arg-type]
        else:
            names = _encode(passing)
    values = {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": _encode(failed),
        "FailedAndUnresolvableNodes": _encode(unresolvable),
        "Error": _encode(error),
    }
    parts: list[bytes] = []
    for name, value in values.items():
        parts += (b',"' if parts else b'{"', key(name, lower_case).encode(), b'":', value)
    return b"".join((*parts, b"}"))


def write_host_priorities(scores: Iterable[tuple[str, int]], *, lower_case: bool = False) -> bytes:
    host, score = key("Host", lower_case), key("Score", lower_case)
    return _encode([{host: name, score: value} for name, value in scores])


class PriorityLines:
    """Encoded entries of a HostPriorityList: for each node, one for each of the eleven scores."""

    __slots__ = ("_lines", "_lower_case")

    def __init__(self, *, lower_case: bool = False) -> None:
        self._lower_case = lower_case
        self._lines: dict[str, tuple[bytes, ...]] = {}

    def write(self, names: Sequence[str], scores: Sequence[int]) -> bytes:
        """As `write_host_priorities`; scores are 0 to 10."""
        lines = self._lines
        try:
            chosen = [lines[name][score] for name, score in zip(names, scores, strict=True)]
        except KeyError:
            if len(lines) > 4 * len(names) + 1000:
                lines.clear()
            for name in names:
                if name not in lines:
                    lines[name] = tuple(
                        write_host_priorities([(name, score)], lower_case=self._lower_case)[1:-1] for score in range(11)
                    )
            return self.write(names, scores)
        return b"".join((b"[", b",".join(chosen), b"]"))


def write_bind_result(error: str = "", *, lower_case: bool = False) -> bytes:
    """Also the body of replies with an error status."""
    return _encode({key("Error", lower_case): error})


def write_preempt_result(victims: Mapping[str, tuple[Sequence[str], int]], *, lower_case: bool = False) -> bytes:
    """`victims` are (uids, number of disruption budgets violated) by node."""
    nodes: dict[str, Any] = {
        name: {
            key("Pods", lower_case): [{key("UID", lower_case): uid} for uid in uids],
            key("NumPDBViolations", lower_case): violations,
        }
        for name, (uids, violations) in victims.items()
    }
    return _encode({key("NodeNameToMetaVictims", lower_case): nodes})
