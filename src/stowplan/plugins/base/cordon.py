"""Cordoned nodes in words, for the two plugins that reject them.

A cordoned node has spec.unschedulable, which NodeUnschedulable reads, and usually a taint that the node controller
adds for it, which TaintToleration reads; uncordoning ends both.
"""

from __future__ import annotations

from stowplan import framework as fwk

UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
_EFFORT = 2.0


def cordoned(node: fwk.NodeInfo) -> fwk.Refusal:
    """The refusal of a cordoned node, with the change that uncordons it."""
    patch = [fwk.PatchOperation("replace", "/spec/unschedulable", False)]
    taints = [number for number, taint in enumerate(node.taints) if taint.key == UNSCHEDULABLE_TAINT]
    # From the last to the first, so that the positions stay valid.
    patch += [fwk.PatchOperation("remove", f"/spec/taints/{number}") for number in reversed(taints)]
    change = fwk.Change(
        kind="uncordon",
        on="node",
        node=node.name,
        text=f"uncordon {node.name}",
        effort=_EFFORT,
        patch=tuple(patch),
    )
    return fwk.Refusal(
        id="node.cordoned", text="is cordoned", wanted="not cordoned", there="cordoned", changes=(change,)
    )
