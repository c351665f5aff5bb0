"""Answers of a running `stowplan scheduler`, over HTTPS."""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from stowplan.api import codec
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.tls import Trust
from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration
from stowplan.config import read as read_config
from stowplan.config.releases import Release
from stowplan.errors import ConfigError, InputError
from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.insight.workloads import workload_reference
from stowplan.serving.insight_pages import INSIGHT_PREFIX, MAX_TOP
from stowplan.simulator.admission import DEFAULT_NAMESPACE


class SchedulerAddress(NamedTuple):
    """A scheduler's secure port, and the credentials to use there."""

    url: str
    kubeconfig: str = ""
    context: str = ""
    certificate_authority: str = ""
    """File of the authority of the scheduler's certificate; by default that of the kubeconfig's cluster."""
    insecure: bool = False
    """Whether the scheduler's certificate is not verified."""

    def connect(self) -> RemoteScheduler:
        """Raises ConfigError."""
        if not self.url.startswith("https://"):
            raise ConfigError(f"--from {self.url}: credentials are sent over https only")
        trust = None
        if self.insecure:
            trust = Trust(insecure=True)
        elif self.certificate_authority:
            trust = Trust(CredentialSource("--certificate-authority", path=self.certificate_authority))
        return RemoteScheduler(load_connection(self.kubeconfig, self.url, self.context, trust=trust))


class _State(msgspec.Struct):
    """The field by which answers to `explain` differ."""

    state: str = "placed"


class _ConfigText(msgspec.Struct):
    """The part of the page's `config` that is a KubeSchedulerConfiguration."""

    yaml: str


class RemoteScheduler:
    """A running scheduler. Methods raise ClusterError or InputError of one line."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def connection(self) -> Connection:
        return self._connection

    def check(self) -> None:
        """Raises ClusterError if the scheduler does not serve the page to this account."""
        self._get("page", "hello")

    def configuration(self, release: Release) -> KubeSchedulerConfiguration:
        """Raises ConfigError if it has plugins of other authors, whose code is not known here."""
        text = msgspec.json.decode(self._get("page", "config"), type=_ConfigText).yaml
        return read_config(text, "the scheduler's configuration", IN_TREE_PLUGINS, release=release).config

    @property
    def namespace(self) -> str:
        """Of the kubeconfig's context."""
        return self._connection.namespace or DEFAULT_NAMESPACE

    def explain(
        self, reference: str, namespace: str, top: int, profile: str = ""
    ) -> Explanation | PlacedExplanation | PendingPods:
        """The answer about a pod, or about a workload."""
        nodes = str(min(top, MAX_TOP))
        workload = workload_reference(reference, namespace)
        if workload is not None:
            if profile:
                raise InputError("a running scheduler explains each pod of a workload by its own profile")
            content = self._get("workload", workload.namespace, *workload.workload, nodes=nodes)
            return codec.decode(PendingPods, content)
        content = self._get("explain", *_pod(reference, namespace), nodes=nodes, profile=profile)
        placed = codec.decode(_State, content).state == "placed"
        return codec.decode(PlacedExplanation, content) if placed else codec.decode(Explanation, content)

    def why_not(self, reference: str, namespace: str, node: str, profile: str = "") -> WhyNot:
        return codec.decode(WhyNot, self._get("why-not", *_pod(reference, namespace), node, profile=profile))

    def pending(self, namespace: str = "") -> PendingPods:
        return codec.decode(PendingPods, self._get("pending", namespace=namespace))

    def _get(self, *names: str, **query: str) -> bytes:
        path = INSIGHT_PREFIX + "/".join(quote(name, safe="") for name in names)
        return asyncio.run(self._request(path, {name: value for name, value in query.items() if value}))

    async def _request(self, path: str, query: dict[str, str]) -> bytes:
        client = Client(self._connection)
        try:
            return await client.get(path, query)
        except ApiError as error:
            raise self._refused(error) from error
        finally:
            await client.close()

    def _refused(self, error: ApiError) -> ClusterError | InputError:
        url, text = self._connection.url, " ".join((error.message or str(error)).split())
        if error.status == 422 or (error.status == 404 and error.message.startswith(("pod ", "node ", "no "))):
            return InputError(text)
        if error.status == 404:
            return ClusterError(f"{url}: no stowplan scheduler answers there: {text}")
        if error.status == 401:
            return ClusterError(f"{url}: the scheduler refuses the credentials: {text}")
        return ClusterError(f"{url}: {text}")


def _pod(reference: str, namespace: str) -> tuple[str, str]:
    space, _, name = reference.removeprefix("pod/").rpartition("/")
    return space or namespace, name
