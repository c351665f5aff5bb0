"""The API server's release and its version of resource.k8s.io decide how the scheduler is built."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from tests.unit.cluster.serving import Handler, serving

from stowplan.cluster.discovery import ServerFacts
from stowplan.config.releases import RELEASES
from stowplan.errors import ConfigError
from stowplan.scheduler.server_discovery import find_server


def answering(version: str, *served: str, status: int = 200) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        if status != 200:
            return web.json_response({"kind": "Status", "code": status, "message": "no"}, status=status)
        if request.path == "/version":
            return web.json_response({"gitVersion": version})
        if not served:
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        return web.json_response({"versions": [{"version": each} for each in served]})

    return handler


def find(handler: Handler) -> ServerFacts | None:
    async def main() -> Any:
        async with serving(handler) as client:
            return await find_server(client.connection)

    found: ServerFacts | None = asyncio.run(main())
    return found


@pytest.mark.parametrize(
    ("served", "chosen"),
    [
        (("v1", "v1beta2", "v1beta1"), "v1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1beta1",), "v1beta1"),
        (("v1alpha3",), ""),
        ((), ""),
    ],
)
def test_the_latest_version_that_is_served_is_used(served: tuple[str, ...], chosen: str) -> None:
    found = find(answering("v1.33.13", *served))
    assert found == (RELEASES["1.33"], chosen)
    assert found is not None
    assert found.effective_release().has("DynamicResourceAllocation") == bool(chosen)


def test_claims_are_served_by_default_since_1_34() -> None:
    found = find(answering("v1.34.4"))
    assert found is not None
    assert found.effective_release() is RELEASES["1.34"]


def test_a_server_that_is_starting_is_asked_again() -> None:
    assert find(answering("", status=503)) is None


def test_a_server_that_hides_its_version_counts_as_the_latest() -> None:
    assert find(answering("", status=403)) == (RELEASES["1.36"], "v1")


@pytest.mark.parametrize(("version", "chosen"), [("1.33", ""), ("1.34", "v1")])
def test_a_server_that_forbids_discovery_has_the_groups_of_its_release(version: str, chosen: str) -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/version":
            return web.json_response({"gitVersion": f"v{version}.0"})
        return web.json_response({"kind": "Status", "code": 403}, status=403)

    assert find(handler) == (RELEASES[version], chosen)


def test_refused_credentials_end_the_start() -> None:
    with pytest.raises(ConfigError, match="the credentials are refused"):
        find(answering("", status=401))
