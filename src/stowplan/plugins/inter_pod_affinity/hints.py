"""Queueing hints of InterPodAffinity.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go (isSchedulableAfterPodChange,
isSchedulableAfterNodeChange)
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan import framework as fwk
from stowplan.api import Node
from stowplan.cache import AffinityTerm
from stowplan.cache.selection import PodTerms, pod_terms

Queue, QueueSkip = fwk.QueueingHint.Queue, fwk.QueueingHint.QueueSkip


def after_pod_change(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """A pod was added to a node, deleted, or has other labels."""
    if old is not None and new is not None and new.uid == pod.uid:
        return Queue
    if any(other is not None and not other.node_name and not other.nominated_node_name for other in (old, new)):
        return QueueSkip
    hint = _by_own_terms(pod, old, new)
    if hint is QueueSkip and old is not None and new is None:
        theirs = pod_terms(old.template)
        return Queue if _malformed(theirs) or _matches_all(theirs.required_anti, pod) else QueueSkip
    return hint


def after_assigned_pod_change(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """As `after_pod_change` in releases that do not read the anti-affinity of a deleted pod."""
    if any(other is not None and not other.node_name for other in (old, new)):
        return QueueSkip
    return _by_own_terms(pod, old, new)


def _by_own_terms(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    terms = pod_terms(pod.template)
    if _malformed(terms):
        return Queue
    if old is None:
        helps = new is not None and _matches_all(terms.required, new)
    elif new is None:
        helps = _matches_all(terms.required_anti, old)
    else:
        attracts = _matches_all(terms.required, new) and not _matches_all(terms.required, old)
        repelled = _matches_all(terms.required_anti, old) and not _matches_all(terms.required_anti, new)
        helps = attracts or repelled
    return Queue if helps else QueueSkip


def after_node_change(pod: fwk.Pod, old: Node | None, new: Node) -> fwk.QueueingHint:
    """A node was added, or has other labels."""
    terms = pod_terms(pod.template)
    if _malformed(terms):
        return Queue
    after = new.metadata.labels
    if old is None:
        helps = bool(terms.required_anti) or any(term.topology_key in after for term in terms.required)
    else:
        before = old.metadata.labels
        joined = (after.get(t.topology_key) not in (None, before.get(t.topology_key)) for t in terms.required)
        left = (before.get(t.topology_key) not in (None, after.get(t.topology_key)) for t in terms.required_anti)
        helps = any(joined) or any(left)
    return Queue if helps else QueueSkip


def _matches_all(terms: Sequence[AffinityTerm], pod: fwk.Pod) -> bool:
    """Whether there are terms and the pod matches all. Namespace labels are not looked up, as in kube-scheduler.

    Ends at the first term that does not match: each pod that is bound is compared with every waiting pod.
    """
    return bool(terms) and all(term.matches(pod.namespace, {}, pod.labels) for term in terms)


def _malformed(terms: PodTerms, which: str = "required") -> bool:
    return any(error.startswith(which) for error in terms.errors)
