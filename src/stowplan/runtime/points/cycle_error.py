"""How a cycle fails: the texts that kube-scheduler gives to errors at each extension point."""

from __future__ import annotations

from stowplan.errors import StowplanError
from stowplan.framework import Code, Status


class CycleError(StowplanError):
    """A plugin broke this pod's cycle. Raised inside the runtime and turned into the decision's error at its edge."""

    def __init__(self, text: str, plugin: str = "", code: Code = Code.Error) -> None:
        super().__init__(text)
        self.status = Status(code, text, plugin=plugin)


TEXTS = {
    "preFilter": 'running PreFilter plugin "{plugin}": {message}',
    "filter": 'running "{plugin}" filter plugin: {message}',
    "preScore": 'running PreScore plugin "{plugin}": {message}',
    "score": 'running Score plugins: plugin "{plugin}" failed with: {message}',
    "normalize": 'running Normalize on Score plugins: plugin "{plugin}" failed with: {message}',
    "addPod": 'running AddPod on PreFilter plugin "{plugin}": {message}',
    "removePod": 'running RemovePod on PreFilter plugin "{plugin}": {message}',
    "weigh": "applying score defaultWeights on Score plugins: "
    'plugin "{plugin}" returns an invalid score {message}, it should in the range of [0, 100] after normalizing',
}


def failed_at(point: str, plugin: str, message: object) -> CycleError:
    return CycleError(TEXTS[point].format(plugin=plugin, message=message), plugin)
