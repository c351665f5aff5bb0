"""The bind verb with everything around it: what is reserved is kept or given back."""

import asyncio
import json
import re
from typing import Any

import pytest

from stowplan import Plugin, api, reject, skip
from stowplan.api.kinds import KINDS
from stowplan.extender import Reservations
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.informer_cache import InformerCache
from stowplan.extender.reservations import ReservationBook
from stowplan.framework import Pod, Status, error

BODY = b'{"PodName":"web","PodNamespace":"d","PodUID":"u1","Node":"n1"}'
FILTER = b'{"Pod":{"metadata":{"name":"web","namespace":"d","uid":"u1"}},"NodeNames":["n1"]}'


class Recording(ReservationBook):
    """Binds nothing, and says so as told."""

    def __init__(self, outcome: Status | None = None) -> None:
        super().__init__()
        self.outcome = outcome
        self.bound_to: list[str] = []

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        self.bound_to.append(node_name)
        return self.outcome


class Steps(Plugin):
    """Does at each step what its arguments say, and remembers the steps."""

    name = "Steps"
    scope = "cluster"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.held = Reservations[int](handle)
        self.taken: list[str] = []

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        state.write("seen", pod.name)

    def _do(self, step: str) -> Any:
        self.taken.append(step)
        return self.args.get(step)

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        self.held.reserve(pod.uid, node_name, 1)
        return self._do("reserve")

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self.held.release(pod.uid)
        self._do("unreserve")

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        await asyncio.sleep(0)
        return self._do("pre_bind")

    def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        if "bind" not in self.args:
            return skip()
        if self.args["bind"] == "raises":
            raise RuntimeError("out of order")
        return self._do("bind")

    def post_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        self._do("post_bind")


def ask(outcome: Status | None = None, **args: Any) -> tuple[str, list[str], int, list[str]]:
    """(the error, the steps taken, how many reservations are left, where the pod was bound by default)."""
    reservations, cache = Recording(outcome), InformerCache(())
    cache.cluster.put_node(api.Node(metadata=api.ObjectMeta(name="n1")))
    cache.put(KINDS["Pod"], [(api.Pod(metadata=api.ObjectMeta(name="web", namespace="d", uid="u1")), None)])
    made: list[Steps] = []

    def make(given: Any, handle: Any) -> Plugin:
        made.append(Steps(given, handle))
        return made[-1]

    handlers = Handlers(
        [GroupMember(make, name="Steps", args=args)], cluster_cache=cache, reservations=reservations, binds=True
    )
    assert handlers.warnings == ()
    asyncio.run(handlers.answer("filter", FILTER))
    reply = asyncio.run(handlers.answer("bind", BODY))
    handlers.close()
    assert reply.status == 200
    return json.loads(reply.body)["Error"], made[0].taken, len(made[0].held), reservations.bound_to


def test_all_goes_well() -> None:
    assert ask() == ("", ["reserve", "pre_bind", "post_bind"], 1, ["n1"])


def test_a_plugin_that_binds_itself() -> None:
    assert ask(bind=None) == ("", ["reserve", "pre_bind", "bind", "post_bind"], 1, [])


@pytest.mark.parametrize(
    ("args", "outcome", "problem", "steps", "bound"),
    [
        ({"reserve": reject("all taken")}, None, "all taken", ["reserve"], []),
        ({"pre_bind": error("no")}, None, 'running PreBind plugin "Steps": no', ["reserve", "pre_bind"], []),
        (
            {"bind": error("conflict")},
            None,
            'running Bind plugin "Steps": conflict',
            ["reserve", "pre_bind", "bind"],
            [],
        ),
        (
            {"bind": "raises"},
            None,
            'running Bind plugin "Steps": bind raised RuntimeError: out of order',
            ["reserve", "pre_bind"],
            [],
        ),
        ({}, error("409"), "409", ["reserve", "pre_bind"], ["n1"]),
    ],
)
def test_what_fails_is_undone(
    args: dict[str, Any], outcome: Status | None, problem: str, steps: list[str], bound: list[str]
) -> None:
    text, *rest = ask(outcome, **args)
    assert (re.sub(r" \(tests/\S+:\d+\)$", "", text), *rest) == (problem, [*steps, "unreserve"], 0, bound)
