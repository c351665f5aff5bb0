"""DefaultBinder: tells the API server where the pod goes."""

from __future__ import annotations

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin


class DefaultBinder(InTreePlugin):
    """Asks for the Binding to be written."""

    name = "DefaultBinder"

    async def bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        outcome = await fwk.Bind(pod, node_name)
        return fwk.error(outcome.message) if isinstance(outcome, fwk.Failure) else None
