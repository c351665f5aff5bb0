"""The port for calling extenders.

Upstream: k8s.io/kube-scheduler/framework/extender.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

from stowplan.framework.instructions import Request
from stowplan.framework.pod import Pod

ExtenderVerb = Literal["filter", "prioritize", "preempt", "bind"]
EXTENDER_VERBS: tuple[ExtenderVerb, ...] = get_args(ExtenderVerb)

CIRCUIT_OPEN = "CircuitOpen"
"""Reason of the Failure for a call that the circuit breaker prevented."""
CIRCUIT_PAUSE_SECONDS = 0.5
"""How long an open circuit prevents calls; then one is let through."""
UNREACHABLE = "Unreachable"
"""Reason of the Failure for a call without a reply."""


class Extender(Protocol):
    """An extender as the runtime sees it, without the transport."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int:
        """Factor for the extender's scores of 0 to 10, in addition to the factor that makes them 0 to 100."""

    @property
    def ignorable(self) -> bool:
        """Whether scheduling goes on if the extender fails."""

    def serves(self, verb: ExtenderVerb) -> bool: ...

    def is_interested(self, pod: Pod) -> bool: ...

    async def call(self, request: CallExtender) -> Any:
        """The answer, for hosts with an event loop. Returns a Failure instead of raising."""


class Filtered(NamedTuple):
    """An extender's answer to the filter verb."""

    passing: Sequence[str]
    failed: Mapping[str, str] = {}
    """Reasons by node; evictions may help."""
    unresolvable: Mapping[str, str] = {}
    """Reasons by node; evictions do not help."""


class ExtenderVictims(NamedTuple):
    """Pods to evict from a node, as they are proposed to the preempt verb."""

    victims: tuple[Pod, ...]
    pdb_violations: int = 0


class ExtenderMetaVictims(NamedTuple):
    """Pods to evict from a node, as an extender names them: by uid. They may not exist."""

    uids: tuple[str, ...]
    pdb_violations: int = 0


class CallExtender(Request):
    """Call an extender. Answered with a Filtered, with scores by node, with ExtenderMetaVictims by node, for `bind`
    with None; or with a Failure."""

    __slots__ = ("argument", "extender", "pod", "verb")

    def __init__(self, extender: Extender, verb: ExtenderVerb, pod: Pod, argument: Any) -> None:
        self.extender = extender
        self.verb = verb
        self.pod = pod
        self.argument = argument
        """The NodeInfos to filter or score; for `preempt` ExtenderVictims by node; for `bind` the node's name."""
