"""DefaultBinder: binds the pod through the API server.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class DefaultBinder(InTreePlugin):
    """Awaits a Bind instruction."""

    name = "DefaultBinder"

    async def bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        outcome = await fwk.Bind(pod, node_name)
        return fwk.error(outcome.message) if isinstance(outcome, fwk.Failure) else None
