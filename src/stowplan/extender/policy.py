"""The operator's policy: which pods a plugin applies to, and the reply when plugins have no result.

The fields are part of ExtenderServerConfiguration, whose file and flags set them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from stowplan.api import LabelSelector
from stowplan.api.selectors import compile_label_selector
from stowplan.config.duration import Duration
from stowplan.config.types import Strict
from stowplan.errors import ConfigError
from stowplan.extender.flags import Flag

if TYPE_CHECKING:  # Flags and configuration are read without loading numpy.
    from stowplan.framework import Pod

OnFailure = Literal["fail", "pass", "cached"]
"""fail: the pod's attempt fails. pass: the reply accepts everything. cached: the pod's last answer is repeated; without
one the attempt fails."""

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""SystemCriticalPriority: priorities from here on are reserved for critical pods of the cluster."""

_MAX_TIMEOUT_SHARE, _MIN_MARGIN_SECONDS = 0.9, 0.05


class PodSelection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The pods that match all given conditions; without any condition, all pods."""

    namespaces: tuple[str, ...] = ()
    labels: LabelSelector = LabelSelector()
    resources: tuple[str, ...] = ()
    """The pod requests at least one of these."""
    scheduler_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        compile_label_selector(self.labels)  # Reports an invalid selector at start-up.

    def matches(self, pod: Pod) -> bool:
        requests = pod.template.requests
        return (
            (not self.namespaces or pod.namespace in self.namespaces)
            and (not self.scheduler_names or pod.spec.scheduler_name in self.scheduler_names)
            and (not self.resources or any(requests.get(resource) for resource in self.resources))
            and compile_label_selector(self.labels).matches(pod.labels)
        )


ALL_PODS = PodSelection()


class FailurePolicy(Strict, frozen=True, kw_only=True):
    """The reply of each verb when plugins fail or exceed the deadline. `bind` always fails."""

    filter: str = "fail"
    prioritize: str = "fail"
    """"fail" and "pass" both score all nodes equally."""
    preempt: str = "fail"


class OperatorPolicy(Strict, frozen=True, kw_only=True):
    """How requests are answered, independent of the plugins."""

    http_timeout: Annotated[
        Duration | None,
        Flag("--http-timeout", "The scheduler's httpTimeout; replies are sent before it ends.", "TIME"),
    ] = Duration.of_seconds(5)
    """The scheduler's `httpTimeout`: a fallback is sent before it expires. None for no limit."""
    failure_policy: Annotated[
        FailurePolicy,
        Flag(
            "--failure-policy",
            "Reply if a plugin fails: fail, pass (accept all nodes) or cached (the pod's last reply); for all verbs "
            "or for one of filter, prioritize, preempt.  [default: fail]",
            "[VERB=]POLICY",
        ),
    ] = FailurePolicy()
    shadow: Annotated[
        bool, Flag("--shadow", "Compute and record decisions, but reject no node and score all nodes equally.")
    ] = False
    """Run the plugins and report their results, but reject and prefer nothing."""
    own_pods: PodSelection | None = None
    """Pods of the extender itself, which are never rejected: it could not restart otherwise."""
    spare_critical: Annotated[
        bool, Flag("--spare-critical", "Accept all nodes for pods of system-critical priority.")
    ] = False
    """Accept all nodes for pods of system-critical priority."""
    lower_case_replies: Annotated[bool, Flag("--lower-case-replies", "Use lower-case keys in replies.")] = False
    """Write the keys of replies as the oldest releases spelled them."""
    bare_names: Annotated[
        bool,
        Flag("--bare-names", "Serve requests with node names only, without a cluster: plugins see only the names."),
    ] = False
    """Answer requests that only name nodes without an informer cache: plugins see the node's name alone."""

    bind_scheduler_names: Annotated[
        tuple[str, ...],
        Flag("--bind-scheduler-name", "Bind pods of this scheduler; may be given again.", "NAME"),
    ] = ("default-scheduler",)
    """The bind verb binds pods of these schedulers only."""

    def validate(self) -> None:
        """Raises ConfigError."""
        if self.http_timeout is not None and self.http_timeout.seconds <= 0:
            raise ConfigError(f"the HTTP timeout must be more than 0 seconds, not {self.http_timeout.seconds:g}")

    @property
    def budget(self) -> float | None:
        """Seconds from the arrival of a request until its reply is due."""
        if self.http_timeout is None:
            return None
        seconds = self.http_timeout.seconds
        return max(seconds / 2, min(seconds * _MAX_TIMEOUT_SHARE, seconds - _MIN_MARGIN_SECONDS))

    def spares(self, pod: Pod) -> bool:
        """Whether the pod is never rejected."""
        if self.own_pods is not None and self.own_pods.matches(pod):
            return True
        return self.spare_critical and pod.priority >= SYSTEM_CRITICAL_PRIORITY
