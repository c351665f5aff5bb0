"""The error that ends a scheduling cycle."""

from __future__ import annotations

from stowplan.errors import StowplanError
from stowplan.framework import Code, Status
from stowplan.framework.points import ERROR_TEXTS


class CycleError(StowplanError):
    """A plugin broke this pod's cycle. `Profile.decide` turns it into the error of the decision."""

    def __init__(self, text: str, plugin: str = "", code: Code = Code.Error) -> None:
        super().__init__(text)
        self.status = Status(code, text, plugin=plugin)


def failed_at(point: str, plugin: str, message: object) -> CycleError:
    """The error for a plugin that failed at an extension point, or at a step of one, in kube-scheduler's words."""
    return CycleError(ERROR_TEXTS[point].format(plugin=plugin, message=message), plugin)
