import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from aiohttp import web
from tests.unit.cluster.serving import Handler, serving

from stowplan.cluster.client import Client
from stowplan.cluster.discovery import read_release, served_versions, server_release
from stowplan.cluster.errors import ApiError, ClusterError

T = TypeVar("T")


def ask(handler: Handler, question: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with serving(handler) as client:
            return await question(client)

    return asyncio.run(main())


def replying(reply: Any, status: int = 200) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(reply, status=status)

    return handler


def test_the_release_of_a_server() -> None:
    assert ask(replying({"major": "1", "gitVersion": "v1.34.4-eks-1"}), read_release).version == "1.34"


@pytest.mark.parametrize("reply", [{}, [], {"gitVersion": "main"}, {"gitVersion": 3}])
def test_a_reply_without_a_version(reply: Any) -> None:
    with pytest.raises(ClusterError, match="/version: the reply has no version"):
        ask(replying(reply), read_release)
    assert ask(replying(reply), lambda client: asyncio.to_thread(server_release, client.connection)) is None


@pytest.mark.parametrize(("served", "claims"), [(("v1beta2", "v1beta1"), True), (("v1alpha3",), False), ((), False)])
def test_claims_are_decided_where_the_server_serves_them(served: tuple[str, ...], claims: bool) -> None:
    """An operator of v1.33 has to enable the API and the gate; what reads the cluster decides as its scheduler does."""

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.33.13"})
        return web.json_response({"versions": [{"version": each} for each in served]}, status=200 if served else 404)

    found = ask(handler, lambda client: asyncio.to_thread(server_release, client.connection))
    assert found is not None
    assert (found.version, found.has("DynamicResourceAllocation")) == ("1.33", claims)


def test_the_versions_of_a_group() -> None:
    versions = [{"groupVersion": f"resource.k8s.io/{each}", "version": each} for each in ("v1beta2", "v1beta1")]
    found = ask(replying({"versions": versions}), lambda client: served_versions(client, "resource.k8s.io"))
    assert found == ("v1beta2", "v1beta1")


def test_a_group_that_is_not_served() -> None:
    gone = {"kind": "Status", "reason": "NotFound", "code": 404}
    assert ask(replying(gone, 404), lambda client: served_versions(client, "resource.k8s.io")) == ()


def test_a_group_that_cannot_be_discovered() -> None:
    forbidden = {"kind": "Status", "reason": "Forbidden", "code": 403}
    with pytest.raises(ApiError):
        ask(replying(forbidden, 403), lambda client: served_versions(client, "resource.k8s.io"))
    with pytest.raises(ClusterError, match="the reply has no versions"):
        ask(replying({"kind": "APIGroup"}), lambda client: served_versions(client, "resource.k8s.io"))
