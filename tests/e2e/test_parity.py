"""Our scheduler decides as kube-scheduler does: a taste of `make parity`."""

import pytest
from tests.e2e.conftest import StartStowplan
from tests.parity.comparison import Comparison
from tests.parity.side import Side
from tests.parity.totals import Totals
from tests.parity.workload import PROFILES, Workload, standing_objects

from stowplan.testing import KubeApi

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SEED = 1
INDICES = (8, 18)
"""Workloads that have a lot of features between them."""
PODS = 15


def test_same_outcomes(
    kube_api: KubeApi, start_control_plane, start_kube_scheduler, start_stowplan: StartStowplan
) -> None:
    other = start_control_plane()
    start_kube_scheduler(other, config={"profiles": PROFILES})
    start_stowplan(config={"profiles": PROFILES})
    totals = Totals()
    with other.client() as client, Side("kube-scheduler", client) as theirs, Side("stowplan", kube_api) as ours:
        for side in (theirs, ours):
            side.prepare(standing_objects())
        with Comparison(theirs, ours, totals) as comparison:
            for index in INDICES:
                comparison.play(Workload(SEED, index, nodes=8, pods=PODS))
        ours.leave_nothing()
    lasting = [found["problems"] for found in totals.disagreements if found["again"]]
    assert not lasting
    assert totals.counts["agreed"] == totals.counts["pods"] >= PODS * len(INDICES)
    assert totals.counts["placed"] > PODS / 2
    assert totals.counts["pending"] > 2
