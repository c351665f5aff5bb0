"""The port for calling extenders: what the runtime asks of one, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

from stowplan.framework.instructions import Request
from stowplan.framework.pod import Pod

ExtenderVerb = Literal["filter", "prioritize", "preempt", "bind"]
EXTENDER_VERBS: tuple[ExtenderVerb, ...] = get_args(ExtenderVerb)


class Extender(Protocol):
    """An extender as the runtime sees it; how it is reached is somebody else's business."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int:
        """What its scores, 0 to 10, are multiplied with besides the factor that makes them 0 to 100."""

    @property
    def ignorable(self) -> bool:
        """Whether scheduling goes on without it where it fails."""

    def serves(self, verb: ExtenderVerb) -> bool: ...

    def is_interested(self, pod: Pod) -> bool: ...

    async def call(self, request: CallExtender) -> Any:
        """The answer, for hosts with an event loop to await it on. Never raises: a Failure is an answer."""


class Filtered(NamedTuple):
    """An extender's answer to `filter`."""

    passing: Sequence[str]
    failed: Mapping[str, str] = {}
    """Reasons by node; evictions may help."""
    unresolvable: Mapping[str, str] = {}
    """Reasons by node; nothing helps."""


class Eviction(NamedTuple):
    """Pods to evict from a node, as they are offered to `preempt`."""

    victims: tuple[Pod, ...]
    pdb_violations: int = 0


class Claim(NamedTuple):
    """Pods to evict from a node, as an extender names them: by uid, and perhaps they are not there."""

    uids: tuple[str, ...]
    pdb_violations: int = 0


class CallExtender(Request):
    """Ask an extender. Answered with a Filtered, with scores by node, with Claims by node, for `bind` with None; or
    with a Failure."""

    __slots__ = ("argument", "extender", "pod", "verb")

    def __init__(self, extender: Extender, verb: ExtenderVerb, pod: Pod, argument: Any) -> None:
        self.extender = extender
        self.verb = verb
        self.pod = pod
        self.argument = argument
        """The NodeInfos in question; for `preempt` Evictions by node; for `bind` the node's name."""
