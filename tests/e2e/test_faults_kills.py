"""A scheduler that is killed again and again, without a chance to say goodbye, while pods arrive."""

import random
import time

import pytest
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import KubeApi, node

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KILLS = 20
PODS = 2000
SEED = 20
LONGEST_LIFE = 2.0


@pytest.mark.timeout(180)
def test_sigkill_at_random_moments(
    kube_api: KubeApi, namespace: str, audit: Audit, start_stowplan: StartStowplan
) -> None:
    rng = random.Random(SEED)
    # There is as much room as the pods take: whoever counts wrong after a restart overfills a node, or finds none.
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(PODS // 100))
    scheduler = start_stowplan()
    killed_at_work = 0
    with arriving(kube_api, namespace, PODS, within=30, cpu="100m"):
        for _ in range(KILLS):
            bound = audit.seen
            deadline = time.monotonic() + rng.uniform(0.5, 1.0) * LONGEST_LIFE
            while audit.seen == bound and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 0.2))
            killed_at_work += audit.seen > bound
            scheduler.kill()
            scheduler.start()
    audit.wait_for_all(namespace, PODS, timeout=60)
    assert audit.seen == PODS
    assert killed_at_work > KILLS / 4, "most kills hit a scheduler that had not begun to work"
