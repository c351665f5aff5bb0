"""DefaultBinder: tells the API server where the pod goes."""

from __future__ import annotations

from stowplan.framework import Bind, CycleState, Failure, Pod, Status, error
from stowplan.plugins.base import InTreePlugin


class DefaultBinder(InTreePlugin):
    """Asks for the Binding to be written."""

    name = "DefaultBinder"

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        outcome = await Bind(pod, node_name)
        return error(outcome.message) if isinstance(outcome, Failure) else None
