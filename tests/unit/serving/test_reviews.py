import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.unit.serving.fakes import TOKENS, FakeClient

from stowplan.cluster.errors import ApiError, ClusterError, ConnectionFailedError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.serving import reviews
from stowplan.serving.reviews import Review, ReviewCache, create_review


class Said(msgspec.Struct):
    word: str = ""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "_RETRY_PAUSES_SECONDS", (0.0, 0.0))


def asked(client: FakeClient) -> str:
    metrics = AccessMetrics(MetricRegistry())
    review = Review(TOKENS, metrics.token_reviews, metrics.token_review_duration)
    try:
        return asyncio.run(create_review(client, review, {}, Said)).word
    finally:
        told = {sample.labels["code"]: sample.value for sample in metrics.token_reviews.samples()}
        assert sum(told.values()) == len(client.asked)


class Script:
    def __init__(self, *outcomes: Any) -> None:
        self._outcomes = list(outcomes)

    def __call__(self, body: Mapping[str, Any]) -> Any:
        return self._outcomes.pop(0)


def test_an_answer() -> None:
    assert asked(FakeClient({TOKENS: Script({"word": "yes"})})) == "yes"


@pytest.mark.parametrize("problem", [ConnectionFailedError("cut off"), ApiError(503), ApiError(429)])
def test_what_may_pass_is_asked_again(problem: Exception) -> None:
    client = FakeClient({TOKENS: Script(problem, problem, {"word": "at last"})})
    assert asked(client) == "at last"


def test_a_refusal_is_final() -> None:
    client = FakeClient({TOKENS: Script(ApiError(403))})
    with pytest.raises(ApiError):
        asked(client)
    assert len(client.asked) == 1


def test_patience_has_an_end() -> None:
    client = FakeClient({TOKENS: lambda body: ConnectionFailedError("cut off")})
    with pytest.raises(ConnectionFailedError):
        asked(client)
    assert len(client.asked) == 3


def test_an_answer_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "_REVIEW_TIMEOUT_SECONDS", 0.01)

    class Slow(FakeClient):
        async def request(self, *args: Any, **options: Any) -> bytes:
            self.asked.append(("", {}))
            await asyncio.sleep(60)
            return b""

    with pytest.raises(ConnectionFailedError, match="no answer in time"):
        asked(Slow())


def test_an_answer_that_cannot_be_read() -> None:
    with pytest.raises(ClusterError, match="the answer cannot be read"):
        asked(FakeClient({TOKENS: Script(["what?"])}))


def test_answers_hold_for_a_while() -> None:
    now = [0.0]
    answers = ReviewCache[str, int | None](clock=lambda: now[0])
    answers.put("a", None, 10)
    answers.put("never", 1, 0)
    assert (answers.get("a"), answers.get("never"), answers.get("b")) == ((None,), None, None)
    now[0] = 10.0
    assert answers.get("a") is None
    assert not len(answers)


def test_the_oldest_answers_are_forgotten() -> None:
    answers = ReviewCache[int, int](max_entries=3)
    for number in range(5):
        answers.put(number, number, 10)
    assert [number for number in range(5) if answers.get(number)] == [2, 3, 4]
