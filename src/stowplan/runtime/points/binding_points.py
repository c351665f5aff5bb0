"""Running the points after a node is chosen: Reserve, Permit, PreBind, Bind, PostBind; one runner for each shape.

Points that may block are coroutines that await framework requests; the engine or the extender drives them.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunReservePluginsReserve, RunPermitPlugins, RunPreBindPlugins)
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NamedTuple

from stowplan.framework import CancelledError, Code, CycleState, Plugin, Pod, Status, Together, error
from stowplan.framework.points import BIND, ERROR_TEXTS, PERMIT, POST_BIND, PRE_BIND, RESERVE, STEPS
from stowplan.framework.safe_text import shown
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.plugins.gang_scheduling import GangScheduling
from stowplan.runtime.points.waiting_pods import MAX_PERMIT_WAIT_SECONDS, PermitWait

if TYPE_CHECKING:
    from stowplan.framework import PodTemplate
    from stowplan.runtime.profile.profile import Profile

SIBLING_FAILED = "some other PreBind operation failed"

METHODS = {step.name: step.methods[0] for step in STEPS if step.methods}
"""The plugin method of a step."""


class BindingPoints(NamedTuple):
    """The plugins that concern pods of one template, at the points after a node is chosen."""

    reserve: tuple[Plugin, ...]
    permit: tuple[Plugin, ...]
    pre_bind: tuple[Plugin, ...]
    bind: tuple[Plugin, ...]
    post_bind: tuple[Plugin, ...]
    straight: bool
    """Whether only Reserve and the default binder run for such a pod."""
    only_gang: bool
    """Whether only GangScheduling at Permit and the default binder run for such a pod."""

    @classmethod
    def of(cls, profile: Profile, template: PodTemplate) -> BindingPoints:
        def concerned(point: str) -> tuple[Plugin, ...]:
            return tuple(plugin for plugin in profile.points[point] if plugin.concerns(template))

        permit, pre_bind, bind, post_bind = map(concerned, (PERMIT, PRE_BIND, BIND, POST_BIND))
        by_default = len(bind) == 1 and isinstance(bind[0], DefaultBinder)
        elsewhere = any(extender.serves("bind") for extender in profile.extenders)
        reserve = concerned(RESERVE)
        plain = by_default and not (pre_bind or post_bind or elsewhere)
        only_gang = plain and not reserve and len(permit) == 1 and isinstance(permit[0], GangScheduling)
        return cls(reserve, permit, pre_bind, bind, post_bind, plain and not permit, only_gang)


def _failure(step: str, plugin: Plugin, status: Status) -> Status:
    """A rejection with the plugin's name; any other failure as an error in kube-scheduler's words."""
    if status.rejected:
        return status.with_plugin(plugin.name)
    return Status(Code.Error, ERROR_TEXTS[step].format(plugin=plugin.name, message=status.message), plugin=plugin.name)


def run_until_failure(step: str, plugins: Iterable[Plugin], *args: Any) -> Status | None:
    """Reserve: the first failure, or None. Plugins after it do not run."""
    method = METHODS[step]
    for plugin in plugins:
        status = getattr(plugin, method)(*args)
        if status is not None and status.code:
            return _failure(step, plugin, status)
    return None


def run_in_reverse(step: str, plugins: tuple[Plugin, ...], *args: Any) -> None:
    """Unreserve: every plugin in reverse order, also the plugins that have not reserved yet."""
    method = METHODS[step]
    for plugin in reversed(plugins):
        getattr(plugin, method)(*args)


async def run_all(step: str, plugins: Iterable[Plugin], *args: Any) -> None:
    """PostBind: every plugin, whatever the others return."""
    method = METHODS[step]
    for plugin in plugins:
        await _result(getattr(plugin, method)(*args))


async def run_permit(
    plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status | None, dict[str, PermitWait]]:
    """(the failure, the waits by plugin). The pod waits for every plugin that returns Wait."""
    waits: dict[str, PermitWait] = {}
    for plugin in plugins:
        status = await _result(plugin.permit(state, pod, node_name))
        if status is None or status.code == Code.Success:
            continue
        if status.code == Code.Wait:
            try:
                seconds = float(min(status.timeout, MAX_PERMIT_WAIT_SECONDS))
                waits[plugin.name] = PermitWait(seconds, status.message)
            except Exception:
                text = f"permit returned wait({shown(status.timeout)}), expected a number of seconds"
                return _failure(PERMIT, plugin, error(text)), {}
            continue
        return _failure(PERMIT, plugin, status), {}
    return None, waits


def run_pre_flights(
    plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status | None, bool]:
    """(the failure, whether any PreBind plugin has work to do). Plugins that return Skip are left out of PreBind."""
    any_runs = False
    for plugin in plugins:
        status = plugin.pre_bind_pre_flight(state, pod, node_name)
        if status is None or status.code == Code.Success:
            any_runs = True
        elif status.code == Code.Skip:
            state.skip_pre_bind |= {plugin.name}
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
    """Neighbours with `parallel_pre_bind` run in parallel. A plugin without it, even a skipped one, ends a group."""
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
    return None if status is None or not status.code else _failure(PRE_BIND, plugin, status)


async def run_bind(plugins: Iterable[Plugin], state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """The first plugin that does not return Skip binds the pod. If all return Skip, so does this: a failure."""
    for plugin in plugins:
        status = await _result(plugin.bind(state, pod, node_name))
        if status is not None and status.code == Code.Skip:
            continue
        return None if status is None or not status.code else _failure(BIND, plugin, status)
    return Status(Code.Skip)


async def _result(answer: Status | Awaitable[Any] | None) -> Status | None:
    """The status of a method that may be a coroutine."""
    return await answer if isawaitable(answer) else answer
