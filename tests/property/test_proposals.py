"""Every proposal of an explanation holds, and a pod that never fits does not fit into the empty cluster either."""

from __future__ import annotations

from tests.property.proposals import cases, check

PROPOSALS = 1000


def test_every_proposal_places_the_pod() -> None:
    failures: list[str] = []
    checked = 0
    for name, case in cases(seed=7):
        outcome = check(case)
        checked += len(outcome.kinds)
        failures += [f"{name}: {failure}" for failure in outcome.failures]
        if checked >= PROPOSALS:
            break
    assert not failures
    assert checked >= PROPOSALS
