"""A scheduler that is killed again and again, without a chance to say goodbye, while pods arrive."""

import random
import time

import pytest
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import KubeApi, node, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KILLS = 20
BATCH = 100
PODS = KILLS * BATCH
SEED = 20


def test_sigkill_at_random_moments(
    kube_api: KubeApi, namespace: str, audit: Audit, start_stowplan: StartStowplan
) -> None:
    rng = random.Random(SEED)
    # There is as much room as the pods take: whoever counts wrong after a restart overfills a node, or finds none.
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(PODS // 100))
    scheduler = start_stowplan()
    for life in range(KILLS):
        bound = audit.seen
        with arriving(kube_api, namespace, BATCH, within=1, first=life * BATCH, cpu="100m"):
            if life % 4:
                wait_until(lambda bound=bound: audit.seen > bound, every=0.01)
                time.sleep(rng.uniform(0.0, 0.3))
            else:
                time.sleep(rng.uniform(0.0, 1.5))  # most likely before it has begun
            scheduler.kill()
            scheduler.start()
    audit.wait_for_all(namespace, PODS)
    assert audit.seen == PODS
