"""Running the points that come after a node was chosen: Reserve, Permit, PreBind, Bind, PostBind.

Those that may wait are coroutines; they await requests of the framework, and whoever drives them sees to those.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NamedTuple

from stowplan.framework import CancelledError, Code, CycleState, Plugin, Pod, Status, Together, error
from stowplan.framework.safe_text import shown
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.runtime.points.waiting_pods import LONGEST_WAIT

if TYPE_CHECKING:
    from stowplan.framework import PodTemplate
    from stowplan.runtime.profile.profile import Profile

SIBLING_FAILED = "some other PreBind operation failed"

_TEXTS = {
    "reserve": 'running Reserve plugin "{}": {}',
    "permit": 'running Permit plugin "{}": {}',
    "preBindPreFlight": 'running PreBindPreFlight "{}": {}',
    "preBind": 'running PreBind plugin "{}": {}',
    "bind": 'running Bind plugin "{}": {}',
}


class BindingPoints(NamedTuple):
    """The plugins that have something to do for pods of one template once a node is chosen."""

    reserve: tuple[Plugin, ...]
    permit: tuple[Plugin, ...]
    pre_bind: tuple[Plugin, ...]
    bind: tuple[Plugin, ...]
    post_bind: tuple[Plugin, ...]
    straight: bool
    """Whether such a pod goes from Reserve to the binding without anything in between or after."""

    @classmethod
    def of(cls, profile: Profile, template: PodTemplate) -> BindingPoints:
        def concerned(point: str) -> tuple[Plugin, ...]:
            return tuple(plugin for plugin in profile.points[point] if plugin.concerns(template))

        permit, pre_bind, bind, post_bind = map(concerned, ("permit", "preBind", "bind", "postBind"))
        by_default = len(bind) == 1 and isinstance(bind[0], DefaultBinder)
        elsewhere = any(extender.serves("bind") for extender in profile.extenders)
        straight = by_default and not (permit or pre_bind or post_bind or elsewhere)
        return cls(concerned("reserve"), permit, pre_bind, bind, post_bind, straight)


def _failure(point: str, plugin: Plugin, status: Status) -> Status:
    """A rejection as it is, signed; anything else that is no success as an error in kube-scheduler's words."""
    if status.rejected:
        return status.with_plugin(plugin.name)
    return Status(Code.Error, _TEXTS[point].format(plugin.name, status.message), plugin=plugin.name)


def run_reserve(plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str) -> Status | None:
    for plugin in plugins:
        status = plugin.reserve(state, pod, node_name)
        if status is not None and status.code:
            return _failure("reserve", plugin, status)
    return None


def run_unreserve(plugins: tuple[Plugin, ...], state: CycleState, pod: Pod, node_name: str) -> None:
    """In reverse order, also those that had not reserved yet."""
    for plugin in reversed(plugins):
        plugin.unreserve(state, pod, node_name)


async def run_permit(
    plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status | None, dict[str, float]]:
    """(what stops the pod, the plugins that hold it back with the seconds that they do so at most)."""
    waits: dict[str, float] = {}
    for plugin in plugins:
        status = await _result(plugin.permit(state, pod, node_name))
        if status is None or status.code == Code.Success:
            continue
        if status.code == Code.Wait:
            try:
                waits[plugin.name] = float(min(status.timeout, LONGEST_WAIT))
            except Exception:
                text = f"permit returned wait({shown(status.timeout)}), expected a number of seconds"
                return _failure("permit", plugin, error(text)), {}
            continue
        return _failure("permit", plugin, status), {}
    return None, waits


def run_pre_flights(
    plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status | None, bool]:
    """(an error, whether any PreBind is going to run)."""
    any_runs = False
    for plugin in plugins:
        status = plugin.pre_bind_pre_flight(state, pod, node_name)
        if status is None or status.code == Code.Success:
            any_runs = True
        elif status.code == Code.Skip:
            state.skip_pre_bind.add(plugin.name)
        elif status.code == Code.Error:
            return _failure("preBindPreFlight", plugin, status), False
        else:
            text = (
                f'PreBindPreFlight {plugin.name} returned "{status.code.name}", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status"
            )
            return Status(Code.Error, text, plugin=plugin.name), False
    return None, any_runs


async def run_pre_bind(plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str) -> Status | None:
    for group in _pre_bind_groups(plugins, state):
        runs = [_run_one_pre_bind(plugin, state, pod, node_name) for plugin in group]
        if len(runs) == 1:
            results = [await runs[0]]
        else:
            results = await Together(runs, failed=lambda status: status is not None, cause=SIBLING_FAILED)
        for status in results:
            if status is not None:
                return status
    return None


def _pre_bind_groups(plugins: Iterable[Plugin], state: CycleState) -> list[list[Plugin]]:
    """Neighbours that allow it run side by side; one that does not, even if it is skipped, parts them."""
    groups: list[list[Plugin]] = []
    joins = False
    for plugin in plugins:
        skipped = plugin.name in state.skip_pre_bind
        if not skipped and joins and plugin.parallel_pre_bind:
            groups[-1].append(plugin)
        elif not skipped:
            groups.append([plugin])
        joins = plugin.parallel_pre_bind and (joins or not skipped)
    return groups


async def _run_one_pre_bind(plugin: Plugin, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    try:
        status = await _result(plugin.pre_bind(state, pod, node_name))
    except CancelledError as cancelled:
        status = Status(Code.Error, str(cancelled))
    return None if status is None or not status.code else _failure("preBind", plugin, status)


async def run_bind(plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """The first plugin that does not skip binds; where all skip nobody does, which is a failure."""
    for plugin in plugins:
        status = await _result(plugin.bind(state, pod, node_name))
        if status is not None and status.code == Code.Skip:
            continue
        return None if status is None or not status.code else _failure("bind", plugin, status)
    return Status(Code.Skip)


async def run_post_bind(plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str) -> None:
    for plugin in plugins:
        await _result(plugin.post_bind(state, pod, node_name))


async def _result(answer: Status | Awaitable[Any] | None) -> Status | None:
    """What a point that may wait came to."""
    return await answer if isawaitable(answer) else answer
