import pytest
from tests.builders import World, node, pod

from stowplan.framework import Bind, CycleState, Failure


@pytest.mark.parametrize(
    ("outcome", "message"),
    [(None, None), (Failure("pod web is already assigned", "Conflict"), "pod web is already assigned")],
)
def test_asks_for_a_binding_and_reports_what_came_of_it(outcome: Failure | None, message: str | None) -> None:
    world = World([node("n")])
    binder = world.plugin("DefaultBinder")
    running = binder.bind(CycleState(), world.pod(pod("web")), "n")
    request = running.send(None)
    assert isinstance(request, Bind)
    assert (request.pod.name, request.node_name) == ("web", "n")
    with pytest.raises(StopIteration) as end:
        running.send(outcome)
    status = end.value.value
    assert (None if status is None else status.message) == message
