"""Asking other people's extenders, as kube-scheduler asks them.

Belongs here: one extender of a configuration as the runtime's port has it (`extender`), how it is reached (`transport`,
`trust`, `proxies`), which objects are sent (`objects`), how long that may take (`patience`), and when it is not worth
asking (`breaker`). Does not belong here: what the answers do to a decision (`runtime.extended`), the bytes themselves
(`wire`). May import what the room may, but none of the server's packages.
"""

from stowplan.config.extender_limits import ExtenderLimits
from stowplan.extender.client.build import build_extenders, kinds_kept, needs_victims
from stowplan.extender.client.extender import CallOutcome, HttpExtender

__all__ = ["CallOutcome", "ExtenderLimits", "HttpExtender", "build_extenders", "kinds_kept", "needs_victims"]
