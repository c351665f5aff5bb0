import asyncio

import pytest
from tests.unit.serving.fakes import RIGHTS, FakeClient, review_rights

from stowplan.cluster.errors import ApiError
from stowplan.config.options import AccessOptions
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.authn import ANONYMOUS, UserInfo
from stowplan.serving.authz import Authorization, Authorizer

BOB = UserInfo("bob", ("team",), "7", {"scopes": ("a", "b")})


def make(client: FakeClient | None, **options: object) -> Authorizer:
    return Authorizer(client, AccessOptions(**options), AccessMetrics(MetricRegistry()))  # type: ignore[arg-type]


def decide(authorizer: Authorizer, user: UserInfo, path: str, verb: str = "get") -> Authorization:
    return asyncio.run(authorizer.authorize(user, path, {"nonResourceAttributes": {"path": path, "verb": verb}}))


@pytest.mark.parametrize(
    ("path", "open_paths", "allowed"),
    [
        ("/healthz", None, True),
        ("/livez", None, True),
        ("/readyz", None, True),
        ("/healthz/ping", None, False),
        ("/metrics", None, False),
        ("/healthz", ("/metrics",), False),
        ("/metrics/slis", ("/metrics*",), True),
        ("/", ("*",), True),
    ],
)
def test_paths_open_to_all(path: str, open_paths: tuple[str, ...] | None, allowed: bool) -> None:
    authorizer = make(None, **({} if open_paths is None else {"open_paths": open_paths}))
    assert decide(authorizer, ANONYMOUS, path).allowed is allowed


def test_masters_may_do_anything() -> None:
    client = FakeClient()
    assert decide(make(client), UserInfo("ada", ("system:masters",)), "/metrics", "delete").allowed
    assert not client.asked


def test_the_api_server_decides() -> None:
    client = FakeClient({RIGHTS: review_rights({"bob": {"get /metrics"}})})
    authorizer = make(client)
    assert decide(authorizer, BOB, "/metrics").allowed
    assert not decide(authorizer, BOB, "/metrics", "delete").allowed
    assert not decide(authorizer, ANONYMOUS, "/metrics").allowed
    assert client.asked[0][1]["spec"] == {
        "user": "bob",
        "groups": ["team"],
        "uid": "7",
        "extra": {"scopes": ["a", "b"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


def test_denied_wins_over_allowed() -> None:
    client = FakeClient({RIGHTS: lambda body: {"status": {"allowed": True, "denied": True, "reason": "no"}}})
    assert decide(make(client), BOB, "/metrics") == Authorization(False, "no")


@pytest.mark.parametrize(("ttl", "questions"), [("allowed_ttl", 1), ("denied_ttl", 2)])
def test_answers_hold_for_a_while(ttl: str, questions: int) -> None:
    client = FakeClient({RIGHTS: review_rights({"bob": {"get /metrics"}})})
    authorizer = make(client, **{"allowed_ttl": 0.0, "denied_ttl": 0.0, ttl: 60.0})
    for _ in range(2):
        decide(authorizer, BOB, "/metrics")
    assert len(client.asked) == questions


def test_errors_are_not_remembered() -> None:
    client = FakeClient({RIGHTS: lambda body: ApiError(403)})
    authorizer = make(client)
    for _ in range(2):
        with pytest.raises(ApiError):
            decide(authorizer, BOB, "/metrics")
    assert len(client.asked) == 2
