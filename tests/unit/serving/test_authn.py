import asyncio
from typing import Any

import pytest
from tests.unit.serving.fakes import TOKENS, FakeClient, review_tokens

from stowplan.cluster.errors import ApiError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.authn import (
    ANONYMOUS,
    Authenticator,
    UserInfo,
    look_up_client_authorities,
    user_of,
)

CERTIFICATE = {
    "subject": (
        (("organizationName", "system:masters"),),
        (("organizationName", "ops"),),
        (("commonName", "ada"),),
    )
}
BOB = UserInfo("bob", ("team", "system:authenticated"), "7", {})


def authenticate(client: FakeClient | None, *visits: str, certificate: Any = None) -> list[UserInfo | None]:
    registry = MetricRegistry()
    authenticator = Authenticator(client, 10.0, AccessMetrics(registry))

    async def visit() -> list[UserInfo | None]:
        return [await authenticator.authenticate(certificate, header) for header in visits]

    return asyncio.run(visit())


def test_a_certificate_names_user_and_groups() -> None:
    assert user_of(CERTIFICATE) == UserInfo("ada", ("system:masters", "ops", "system:authenticated"))


@pytest.mark.parametrize("certificate", [None, {}, {"subject": ((("organizationName", "ops"),),)}])
def test_a_certificate_without_a_name_names_nobody(certificate: Any) -> None:
    assert user_of(certificate) is None


def test_a_certificate_comes_before_a_token() -> None:
    client = FakeClient()
    (user,) = authenticate(client, "Bearer x", certificate=CERTIFICATE)
    assert user is not None
    assert user.name == "ada"
    assert not client.asked


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Bearer  "])
def test_without_credentials_a_visitor_is_anonymous(header: str) -> None:
    assert authenticate(FakeClient(), header) == [ANONYMOUS]


@pytest.mark.parametrize("header", ["Bearer t1", "bearer t1", "  Bearer   t1  "])
def test_a_token_that_the_api_server_knows(header: str) -> None:
    client = FakeClient({TOKENS: review_tokens({"t1": "bob"})})
    assert authenticate(client, header) == [BOB]
    assert client.asked[0][1]["spec"] == {"token": "t1"}


def test_a_token_that_nobody_knows_is_refused() -> None:
    assert authenticate(FakeClient({TOKENS: review_tokens({})}), "Bearer t1") == [None]


def test_tokens_are_nobodys_where_there_is_nobody_to_ask() -> None:
    assert authenticate(None, "Bearer t1") == [ANONYMOUS]


def test_the_api_server_is_asked_once_for_a_while() -> None:
    client = FakeClient({TOKENS: review_tokens({"t1": "bob"})})
    assert authenticate(client, "Bearer t1", "Bearer bad", "Bearer t1", "Bearer bad") == [BOB, None, BOB, None]
    assert len(client.asked) == 2


def test_what_could_not_be_checked_is_refused_and_checked_again() -> None:
    outcomes: list[Any] = [ApiError(403), {"status": {"authenticated": True, "user": {"username": "bob"}}}]
    client = FakeClient({TOKENS: lambda body: outcomes.pop(0)})
    first, second = authenticate(client, "Bearer t1", "Bearer t1")
    assert first is None
    assert second is not None
    assert second.name == "bob"


def test_tokens_are_not_kept() -> None:
    authenticator = Authenticator(
        FakeClient({TOKENS: review_tokens({"secret": "bob"})}), 10.0, AccessMetrics(MetricRegistry())
    )
    asyncio.run(authenticator.authenticate(None, "Bearer secret"))
    assert "secret" not in repr(vars(authenticator._cache))


def test_visits_are_counted() -> None:
    registry = MetricRegistry()
    client = FakeClient({TOKENS: review_tokens({"t1": "bob", "t2": "admin", "t3": "bob@example.com"})})
    authenticator = Authenticator(client, 10.0, AccessMetrics(registry))
    for header in ("Bearer t1", "Bearer t1", "Bearer bad", "", "Bearer t2", "Bearer t3"):
        asyncio.run(authenticator.authenticate(None, header))
    text = registry.expose().decode()
    assert 'authentication_attempts{result="success"} 5\n' in text
    assert 'authentication_attempts{result="error"} 1\n' in text
    assert 'authenticated_user_requests{username="other"} 3\n' in text
    assert 'authenticated_user_requests{username="admin"} 1\n' in text
    assert 'authenticated_user_requests{username="email_id"} 1\n' in text
    assert 'authentication_token_cache_fetch_total{status="error"} 1\n' in text
    assert 'authentication_token_cache_request_total{status="hit"} 1\n' in text
    assert 'apiserver_delegated_authn_request_total{code="201"} 4\n' in text


@pytest.mark.parametrize(("data", "found"), [({"client-ca-file": "PEM"}, "PEM"), ({}, "")])
def test_authorities_are_looked_up(data: dict[str, str], found: str) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    client = FakeClient({path: lambda body: {"data": data}})
    assert asyncio.run(look_up_client_authorities(client)) == found
