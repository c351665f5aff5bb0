"""A webhook that kube-scheduler calls, and the way to call those of others.

Belongs here: the extender protocol of every release (`wire`), answering it with plugins (`handlers`) or with plain
functions (`app`), serving it (`server`), a cache of the cluster for requests that carry names only (`mirror`),
reservations and binding (`holding`), calling other people's extenders (`client`). Does not belong here: the scheduling
loop, and how command lines are read. May import `cluster`, `runtime` and what is below them.

The names here are for extenders made of functions, and for plugins that hold something for a pod until it is bound.
They are imported when the first of them is asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowplan.extender.app import App, bind, filter, preempt, prioritize, run
    from stowplan.extender.deadline import remaining
    from stowplan.extender.handlers.policy import PodSelection
    from stowplan.extender.reservations import PodWriter, Reservations
else:

    def __getattr__(name: str) -> object:
        if name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_ELSEWHERE[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


_ELSEWHERE = {
    **dict.fromkeys(("App", "bind", "filter", "preempt", "prioritize", "run"), "app"),
    **dict.fromkeys(("PodWriter", "Reservations"), "holding"),
    "PodSelection": "handlers.policy",
    "remaining": "budget",
}

__all__ = [
    "App",
    "PodSelection",
    "PodWriter",
    "Reservations",
    "bind",
    "filter",
    "preempt",
    "prioritize",
    "remaining",
    "run",
]
