"""Stowplan: a Kubernetes scheduler in Python.

These are the names that authors of plugins need. All of them live in `stowplan.framework`, which is imported when the
first of them is asked for, so that whoever needs none does not wait for NumPy.
"""

from typing import TYPE_CHECKING

from stowplan._version import __version__

if TYPE_CHECKING:
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
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from stowplan import framework

        value = globals()[name] = getattr(framework, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "PODS_TO_ACTIVATE",
    "Action",
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
    "skip",
    "wait",
]
