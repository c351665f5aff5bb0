"""A short run of the fuzzer; long ones are `python -m tests.fuzz`."""

import random

import pytest
from tests.fuzz.batches import Batches
from tests.fuzz.mutations import Mutations
from tests.fuzz.trial import Trial

from stowplan.testing import KubeApi

OBJECTS = 2000

pytestmark = pytest.mark.e2e


def test_random_objects_raise_no_exception_and_take_no_time(kube_api: KubeApi) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    batches, trial = Batches(kube_api, Mutations(random.Random(seed))), Trial()
    for batch in batches.take(OBJECTS):
        trial.run(batch)
    assert trial.findings.objects == OBJECTS
    assert trial.findings.decisions
    assert not trial.problems(), f"seed {seed}"
