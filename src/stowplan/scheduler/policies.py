"""Reads Policies from files and ConfigMaps.

Upstream: pkg/scheduler/scheduler.go (initPolicyFromFile, initPolicyFromConfigMap) of earlier releases
"""

from __future__ import annotations

import asyncio

import msgspec

from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.kubeconfig import load_connection
from stowplan.config.conversion import PolicySource
from stowplan.config.conversion.sources import POLICY_KEY
from stowplan.config.files import read_file
from stowplan.errors import ConfigError

_TIMEOUT_SECONDS = 10.0


class Policies:
    """Reader of the Policy that a configuration refers to."""

    def __init__(self, kubeconfig: str = "", master: str = "") -> None:
        """Connection to the cluster if the configuration names none."""
        self._kubeconfig = kubeconfig
        self._master = master

    def __call__(self, source: PolicySource) -> str | bytes:
        return read_file(source.file) if source.file else asyncio.run(self._fetch(source))

    async def _fetch(self, source: PolicySource) -> str:
        where = f"{source.namespace}/{source.name}"
        client = Client(load_connection(source.kubeconfig or self._kubeconfig, self._master))
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                reply = await client.get(f"/api/v1/namespaces/{source.namespace}/configmaps/{source.name}")
        except ApiError as refusal:
            raise ConfigError(f"couldn't get policy config map {where}: {refusal.message}") from refusal
        except ClusterError as problem:
            raise ConfigError(f"couldn't get policy config map {where}: {problem}") from problem
        except TimeoutError as problem:
            raise ConfigError(f"couldn't get policy config map {where}: no answer") from problem
        finally:
            await client.close()
        text = (msgspec.json.decode(reply).get("data") or {}).get(POLICY_KEY)
        if text is None:
            raise ConfigError(f'missing policy config map value at key "{POLICY_KEY}" in {source}')
        return str(text)
