"""What an extender server is made of, once flags and files have been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stowplan.config.types import LeaderElection
from stowplan.extender.handlers import GroupMember, OperatorPolicy, Verb
from stowplan.extender.server.scheduler_port import Gzip
from stowplan.serving import ServingOptions

LARGEST_BODY = 64 << 20
DRAIN_SECONDS = 25.0
"""Less than the 30 s that Kubernetes gives a pod to end."""


@dataclass(frozen=True, kw_only=True)
class ExtenderSettings:
    """All of it."""

    members: tuple[GroupMember, ...]
    policy: OperatorPolicy = field(default_factory=OperatorPolicy)
    serving: ServingOptions = field(default_factory=lambda: ServingOptions(address="127.0.0.1", port=8888))
    client_ca_file: str = ""
    allowed_names: tuple[str, ...] = ()
    url_prefix: str = ""
    verbs: Mapping[Verb, str] = field(default_factory=dict)
    """Names that differ from the usual ones; an empty one switches the verb off."""
    largest_body: int = LARGEST_BODY
    gzip: Gzip = "auto"
    metrics_address: str = ""
    """Where health, metrics and decisions are served; the same as for verbs if empty."""
    metrics_port: int | None = None
    """None for the same port as the verbs'."""
    kubeconfig: str = ""
    in_cluster: bool = False
    """Whether to find the cluster as kubectl does where no file is named."""
    lease: LeaderElection | None = None
    """With several replicas: the lease of the one that holds reservations."""
    decisions_kept: int = 256
    decision_log: str = ""
    log_requests: bool = False
    record: str = ""
    keep_annotations: tuple[str, ...] = ()
    drain_seconds: float = DRAIN_SECONDS

    @property
    def has_tls(self) -> bool:
        return bool(self.serving.certificate_file)
