"""Calling the extenders of a KubeSchedulerConfiguration, as kube-scheduler does.

Belongs here: one extender of a configuration as the runtime's port (`extender`), connections (`transport`, `tls`,
`proxies`), the objects that are sent (`objects`), and the circuit breaker (`circuit_breaker`). Does not belong here:
the effect of replies on a decision (`runtime.decide.extenders`), the bytes (`wire`). May import the rooms that
`extender` may import, but none of the server's packages.

Upstream: pkg/scheduler/extender.go
"""

from stowplan.config.extender_limits import ExtenderLimits
from stowplan.extender.client.build import build_extenders, kinds_kept, needs_victims
from stowplan.extender.client.extender import CallOutcome, HttpExtender

__all__ = ["CallOutcome", "ExtenderLimits", "HttpExtender", "build_extenders", "kinds_kept", "needs_victims"]
