"""Stowplan: a Kubernetes scheduler in Python.

This package exports the plugin API (`stowplan.framework`), the library (`stowplan.library`: `Cluster` and `Run`), and
the entry points of a scheduler with plugins of your own. The names are imported on first use, so programs that use none
of them do not load NumPy.
"""

from typing import TYPE_CHECKING

from stowplan._version import __version__

if TYPE_CHECKING:
    from stowplan.cli.scheduler import scheduler_command, with_plugin
    from stowplan.framework import (
        PODS_TO_ACTIVATE,
        Action,
        ClusterEvent,
        ClusterEventWithHint,
        Code,
        CycleState,
        EventResource,
        Handle,
        Mask,
        NodeInfo,
        Nodes,
        Normalizer,
        Plugin,
        Pod,
        PodTemplate,
        PostFilterResult,
        QueuedPodInfo,
        QueueingHint,
        Scope,
        Scores,
        StateNotFoundError,
        Status,
        WaitingPod,
        accept,
        error,
        on,
        pending,
        reject,
        reject_forever,
        skip,
        wait,
    )
    from stowplan.library import Cluster, Records, Run, RunDiff
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_ELSEWHERE.get(name, "stowplan.framework")), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


_ELSEWHERE = {
    **dict.fromkeys(("scheduler_command", "with_plugin"), "stowplan.cli.scheduler"),
    **dict.fromkeys(("Cluster", "Records", "Run", "RunDiff"), "stowplan.library"),
}

__all__ = [
    "PODS_TO_ACTIVATE",
    "Action",
    "Cluster",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleState",
    "EventResource",
    "Handle",
    "Mask",
    "NodeInfo",
    "Nodes",
    "Normalizer",
    "Plugin",
    "Pod",
    "PodTemplate",
    "PostFilterResult",
    "QueuedPodInfo",
    "QueueingHint",
    "Records",
    "Run",
    "RunDiff",
    "Scope",
    "Scores",
    "StateNotFoundError",
    "Status",
    "WaitingPod",
    "__version__",
    "accept",
    "error",
    "on",
    "pending",
    "reject",
    "reject_forever",
    "scheduler_command",
    "skip",
    "wait",
    "with_plugin",
]
