"""Instructions: what the engine orders from its host, as values.

A `Request` is answered, with its result or with a `Failure`; other instructions are not. Coroutines of the engine and
of in-tree plugins `await` a request; the engine hands it to the host and resumes the coroutine with the answer, so no
event loop is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Coroutine, Generator, Iterator, Sequence
from typing import Any, Literal

from stowplan import api
from stowplan.errors import StowplanError
from stowplan.framework.pod import Pod

Verb = Literal["get", "create", "patch", "delete"]


class Failure:
    """Why a request failed. `reason` is the API server's, such as Conflict, NotFound or Timeout."""

    __slots__ = ("message", "reason")

    def __init__(self, message: str, reason: str = "") -> None:
        self.message = message
        self.reason = reason

    def __repr__(self) -> str:
        return f"<Failure {self.reason}: {self.message}>"


class Instruction:
    """Something that the host has to do."""

    __slots__ = ()


class Request(Instruction):
    """An instruction that is answered."""

    __slots__ = ("on_answer",)

    on_answer: Callable[[Any], None]
    """Takes the answer. Set by the code that hands the request out."""

    def __await__(self) -> Generator[Request, Any, Any]:
        return (yield self)


class Bind(Request):
    """Bind a pod to a node. Answered with None, or a Failure."""

    __slots__ = ("node_name", "pod")

    def __init__(self, pod: Pod, node_name: str) -> None:
        self.pod = pod
        self.node_name = node_name


class PatchStatus(Instruction):
    """Write a condition, a nominated node name, or both to a pod's status. None leaves a part unchanged."""

    __slots__ = ("condition", "is_repeated", "nominated_node_name", "pod", "restores")

    def __init__(
        self,
        pod: Pod,
        condition: api.Condition | None,
        nominated_node_name: str | None,
        *,
        is_repeated: bool = False,
        restores: bool = False,
    ) -> None:
        self.pod = pod
        self.condition = condition
        self.nominated_node_name = nominated_node_name
        self.is_repeated = is_repeated
        """Whether the pod has the condition already, with another reason or message."""
        self.restores = restores
        """Whether the pod has the very condition, and only a patch that may be under way has to be undone."""


class Evict(Request):
    """Add the condition DisruptionTarget to a pod, then delete it. Answered with None, or a Failure."""

    __slots__ = ("condition", "pod")

    def __init__(self, pod: Pod, condition: api.Condition) -> None:
        self.pod = pod
        self.condition = condition


MAX_NOTE_BYTES = 1024
"""The API server's limit for an event's note."""
_ELLIPSIS = b" ..."


def encode_note(note: str) -> bytes:
    """An event's note in UTF-8, truncated to the limit as kube-scheduler's truncateMessage does."""
    encoded = note.encode(errors="replace")
    if len(encoded) <= MAX_NOTE_BYTES:
        return encoded
    return encoded[: MAX_NOTE_BYTES - len(_ELLIPSIS)].decode(errors="ignore").encode() + _ELLIPSIS


class EmitEvent(Instruction):
    """Record an event about a pod."""

    __slots__ = ("action", "is_repeated", "note", "reason", "regarding", "related", "reporter", "type")

    def __init__(
        self,
        regarding: Pod,
        type: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        related: Pod | None = None,
        reporter: str = "",
        is_repeated: bool = False,
    ) -> None:
        self.regarding = regarding
        self.type = type
        self.reason = reason
        self.action = action
        self.note = note
        self.related = related
        self.reporter = reporter or regarding.template.spec.scheduler_name
        """The reporting controller: the schedulerName of the profile."""
        self.is_repeated = is_repeated
        """Whether the pod had an event of this reason before, perhaps with another note."""


class RepeatEvent(Instruction):
    """Record an event about each of several pods, all of which had the same event before."""

    __slots__ = ("_first", "batch", "pods")

    def __init__(
        self,
        pods: Sequence[Pod],
        type: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        batch: str = "",
    ) -> None:
        self.pods = pods
        self.batch = batch
        """Equal for most of the pods the next time."""
        self._first = EmitEvent(pods[0], type, reason, action, note)

    @property
    def reporter(self) -> str:
        """The schedulerName of the profile."""
        return self._first.reporter

    def each(self, only: Container[object] | None = None) -> Iterator[EmitEvent]:
        """The events one by one; `only` are the pods whose events are wanted."""
        first = self._first
        for pod in self.pods if only is None else [pod for pod in self.pods if pod in only]:
            yield EmitEvent(pod, first.type, first.reason, first.action, first.note, is_repeated=True)


class Write(Request):
    """Write any other object, or read it. Answered with the object as stored, or a Failure.

    The `changes` of a patch are a JSON merge patch, because structs hold only the fields that scheduling reads and
    replacing the object would lose the others. The patch is valid for the resourceVersion of `item` only.
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
    """Wait. Answered with None by the engine, which owns the clock."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Together(Request):
    """Run coroutines in parallel. Answered by the engine with the list of their results.

    As soon as a result satisfies `failed`, the other coroutines are cancelled with `cause`; their results are None.
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
    """Call a function of an out-of-tree plugin on a thread where it may block, or await the coroutine that it returns.
    Answered with its result, or a Failure."""

    __slots__ = ("function", "plugin", "point")

    def __init__(self, plugin: str, point: str, function: Callable[[], Any]) -> None:
        self.plugin = plugin
        self.point = point
        self.function = function


class CancelledError(StowplanError):
    """Raised in a coroutine that awaits a request when the coroutine is cancelled. The text is the cause."""
