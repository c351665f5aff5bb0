import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.cluster.ratelimit import TokenBucket


def test_a_burst_passes_and_the_rest_queues() -> None:
    bucket = TokenBucket(10, 3, lambda: 5.0)
    assert [bucket.take() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])


def test_tokens_come_back_up_to_the_burst() -> None:
    now = 0.0
    bucket = TokenBucket(10, 2, lambda: now)
    bucket.take()
    bucket.take()
    now = 0.1
    assert bucket.take() == 0
    now = 100.0
    assert [bucket.take() for _ in range(3)] == pytest.approx([0, 0, 0.1])


@pytest.mark.parametrize("qps", [0.0, -1.0])
def test_no_rate_is_no_limit(qps: float) -> None:
    bucket = TokenBucket(qps, 1, lambda: 0.0)
    assert [bucket.take() for _ in range(1000)] == [0.0] * 1000


@given(st.floats(1, 100), st.integers(1, 20), st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=60))
def test_never_more_than_the_rate_allows(qps: float, burst: int, pauses: list[float]) -> None:
    now = 0.0
    bucket = TokenBucket(qps, burst, lambda: now)
    sent: list[float] = []
    for pause in pauses:
        now += pause
        sent.append(now + bucket.take())
    assert sent == sorted(sent)
    for first, start in enumerate(sent):
        for last in range(first, len(sent)):
            assert last - first + 1 <= burst + qps * (sent[last] - start) + 1e-6
