"""Scheduler extenders: serving the webhook that kube-scheduler calls, and calling the extenders of others.

Belongs here: the extender protocol of every release (`wire`), answering it with plugins (`handlers`) or plain functions
(`app`), serving it (`server`), the informer cache for requests that carry node names only (`informer_cache`),
reservations and binding (`reservations`), and the client side (`client`). Does not belong here: the scheduling loop,
and reading command lines. May import `serving`, `observe`, `cluster`, `runtime` and the rooms below them.

The names exported here are for extenders made of functions, and for plugins that reserve something for a pod until it
is bound. They are imported on first use.

Upstream: k8s.io/kube-scheduler/extender/v1 (protocol), pkg/scheduler/extender.go (client)
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowplan.extender.app import App, bind, filter, preempt, prioritize, run
    from stowplan.extender.deadline import remaining
    from stowplan.extender.policy import PodSelection as Selector
    from stowplan.extender.reservations import PodWriter, Reservations
else:

    def __getattr__(name: str) -> object:
        if name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _ELSEWHERE[name].partition(":")
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), attribute or name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


_ELSEWHERE = {
    **dict.fromkeys(("App", "bind", "filter", "preempt", "prioritize", "run"), "app"),
    **dict.fromkeys(("PodWriter", "Reservations"), "reservations"),
    "Selector": "policy:PodSelection",
    "remaining": "deadline",
}

__all__ = [
    "App",
    "PodWriter",
    "Reservations",
    "Selector",
    "bind",
    "filter",
    "preempt",
    "prioritize",
    "remaining",
    "run",
]
