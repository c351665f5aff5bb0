from __future__ import annotations

import pytest
from tests.builders import node, pod
from tests.unit.observe.metered_engine import MeteredEngine

from stowplan import logs
from stowplan.scheduler.dumper import dump


def test_nodes_and_queue(capsys: pytest.CaptureFixture[str]) -> None:
    stage = MeteredEngine(
        node("n1"),
        node("n2"),
        pod("running", "n1", requests={"cpu": "250m"}),
        pod("big", requests={"cpu": 100}),
        pod("expected", nominated="n2"),
    )
    logs.configure(logs.LogOptions())
    dump(stage.host.engine)
    text = capsys.readouterr().err
    assert '"Dump of cached NodeInfo" nodes=<\n\tNode name: n1\n\tDeleted: false\n' in text
    assert "\tRequested Resources: {cpu:250" in text
    assert "\tAllocatable Resources:{cpu:4000" in text
    assert "\tScheduled Pods(number: 1):\n\tname: running, namespace: default, uid: default/running, phase: , " in text
    assert "\tNominated Pods(number: 1):\n\tname: expected, namespace: default" in text
    assert '"Dump of scheduling queue" summary="activeQ:2; backoffQ:0; unschedulablePods:0" pods=<\n' in text
    assert "\tname: big, namespace: default, uid: default/big, phase: Pending, nominated node: \n" in text
