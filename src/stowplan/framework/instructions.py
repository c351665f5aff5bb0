"""What the engine asks of the world outside: the whole of what it wants done, as values.

A `Request` is answered: with what came of it, or with a `Failure`. Whatever is not a Request is simply to be done.
Coroutines of the tree (binding cycles, in-tree PreBind) `await` a request; whoever drives them hands it out and sends
the answer in, so that no event loop is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Literal

from stowplan import api
from stowplan.errors import StowplanError
from stowplan.framework.pod import Pod

Verb = Literal["get", "create", "patch", "delete"]


class Failure:
    """Why a request was not fulfilled. `reason` is the API server's, such as Conflict, NotFound or Timeout."""

    __slots__ = ("message", "reason")

    def __init__(self, message: str, reason: str = "") -> None:
        self.message = message
        self.reason = reason

    def __repr__(self) -> str:
        return f"<Failure {self.reason}: {self.message}>"


class Instruction:
    """Something to be done outside of the engine."""

    __slots__ = ()


class Request(Instruction):
    """An instruction whose outcome matters."""

    __slots__ = ("on_answer",)

    on_answer: Callable[[Any], None]
    """Set by whoever hands the request out: takes the answer."""

    def __await__(self) -> Generator[Request, Any, Any]:
        return (yield self)


class Bind(Request):
    """Tell the API server where a pod goes. Answered with None, or a Failure."""

    __slots__ = ("node_name", "pod")

    def __init__(self, pod: Pod, node_name: str) -> None:
        self.pod = pod
        self.node_name = node_name


class PatchStatus(Instruction):
    """Write a condition, a nominated node, or both into a pod's status; None leaves that part alone."""

    __slots__ = ("condition", "nominated_node_name", "pod")

    def __init__(self, pod: Pod, condition: api.Condition | None, nominated_node_name: str | None) -> None:
        self.pod = pod
        self.condition = condition
        self.nominated_node_name = nominated_node_name


class Evict(Request):
    """Mark a pod as a target of disruption with this condition, then delete it. Answered with None, or a Failure."""

    __slots__ = ("condition", "pod")

    def __init__(self, pod: Pod, condition: api.Condition) -> None:
        self.pod = pod
        self.condition = condition


class EmitEvent(Instruction):
    """Tell the owner of a pod what happened to it."""

    __slots__ = ("action", "note", "reason", "regarding", "related", "reporter", "type")

    def __init__(
        self,
        regarding: Pod,
        type: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        related: Pod | None = None,
        reporter: str = "",
    ) -> None:
        self.regarding = regarding
        self.type = type
        self.reason = reason
        self.action = action
        self.note = note
        self.related = related
        self.reporter = reporter or regarding.template.spec.scheduler_name
        """The schedulerName of the profile that tells it."""


class Write(Request):
    """Write any other object, or just read it. Answered with the object as it is now stored, or a Failure.

    A patch names in `changes` what is to become different, as a JSON merge patch: objects are known here by the fields
    that scheduling reads, so replacing them would lose the rest. It holds for the resourceVersion of `item` alone.
    """

    __slots__ = ("changes", "item", "kind", "subresource", "verb")

    def __init__(
        self, verb: Verb, kind: str, item: Any, changes: dict[str, Any] | None = None, subresource: str = ""
    ) -> None:
        self.verb = verb
        self.kind = kind
        self.item = item
        self.changes = changes
        self.subresource = subresource


class Sleep(Request):
    """Let time pass. Answered with None by the engine itself, which keeps the clock."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Together(Request):
    """Run coroutines of the tree side by side. Answered by the engine itself with the list of their results.

    As soon as one ends with a result that `failed` holds of, the others are cancelled with the cause given; their
    results are None then.
    """

    __slots__ = ("cause", "coroutines", "failed")

    def __init__(
        self,
        coroutines: Sequence[Coroutine[Request, Any, Any]],
        failed: Callable[[Any], bool] = lambda result: False,
        cause: str = "",
    ) -> None:
        self.coroutines = coroutines
        self.failed = failed
        self.cause = cause


class Call(Request):
    """Call a user's function where it may block, or await what it returns. Answered with its result, or a Failure."""

    __slots__ = ("function", "plugin", "point")

    def __init__(self, plugin: str, point: str, function: Callable[[], Any]) -> None:
        self.plugin = plugin
        self.point = point
        self.function = function


class CancelledError(StowplanError):
    """Thrown into a coroutine that waits for a request and is to end; the text is why."""
