"""Writes to ResourceClaims, retried after conflicts and lost responses.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (bindClaim, Unreserve)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from stowplan import api
from stowplan import framework as fwk

KIND = "ResourceClaim"
FINALIZER = "resource.kubernetes.io/delete-protection"

MAX_ATTEMPTS = 5
PAUSE_SECONDS = 0.01
"""Seconds between two attempts."""

UNSETTLED = ("Timeout", "Unreachable")
"""Reasons of failures after which it is unknown whether the server carried out the write."""

Change = Callable[[api.ResourceClaim], Awaitable[Any]]
"""Writes a change of a stored claim; returns the stored claim of the response, or a Failure."""


async def repeatedly(claim: api.ResourceClaim, change: Change, on_refresh: str) -> Any:
    """Change a claim. After a conflict or a lost response, reads the claim and tries again."""
    outcome: Any = None
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            await fwk.Sleep(PAUSE_SECONDS)
            latest = await read(claim)
            if isinstance(latest, fwk.Failure):
                # The outcome of the earlier attempt remains unknown.
                reason = outcome.reason if outcome.reason in UNSETTLED else latest.reason
                return fwk.Failure(f"{on_refresh}: {latest.message}", reason)
            claim = latest
        outcome = await change(claim)
        if not isinstance(outcome, fwk.Failure) or outcome.reason not in ("Conflict", *UNSETTLED):
            return outcome
    return outcome


def read(claim: api.ResourceClaim) -> fwk.Write:
    return fwk.Write("get", KIND, claim)


def set_finalizers(claim: api.ResourceClaim, finalizers: list[str]) -> fwk.Write:
    return fwk.Write("patch", KIND, claim, {"metadata": {"finalizers": finalizers or None}})


def patch_status(claim: api.ResourceClaim, changes: dict[str, Any]) -> fwk.Write:
    return fwk.Write("patch", KIND, claim, {"status": changes}, subresource="status")


def within(outcome: fwk.Failure, context: str) -> fwk.Failure:
    """The failure, with the operation in front of its message."""
    return fwk.Failure(f"{context}: {outcome.message}", outcome.reason)


async def delete(claim: api.ResourceClaim) -> fwk.Failure | None:
    """Delete a claim that the scheduler created: removes the finalizer first."""
    metadata = claim.metadata
    key = f"{metadata.namespace}/{metadata.name}"

    async def unprotect(latest: api.ResourceClaim) -> Any:
        if FINALIZER not in latest.metadata.finalizers:
            return latest
        outcome = await set_finalizers(latest, [name for name in latest.metadata.finalizers if name != FINALIZER])
        return within(outcome, f"update resourceclaim {key}") if isinstance(outcome, fwk.Failure) else outcome

    outcome = await repeatedly(claim, unprotect, f"get resourceclaim {key}")
    if not isinstance(outcome, fwk.Failure):
        outcome = await fwk.Write("delete", KIND, claim)
    return outcome if isinstance(outcome, fwk.Failure) and outcome.reason != "NotFound" else None
