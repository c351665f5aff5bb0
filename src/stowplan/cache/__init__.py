"""The columnar truth about the cluster.

Belongs here: nodes as slots with NumPy columns, label and image tables, pods interned by template, the counts that
selectors and affinity terms keep, assume and forget, the what-if journal, and stores of the other API objects. Does not
belong here: any scheduling rule, any clock, any I/O. May import `framework` and `api`.
"""

from stowplan.cache.cluster import CacheError, Cluster, Footprint
from stowplan.cache.counts import DomainCounts, SlotCounts
from stowplan.cache.journal import Journal
from stowplan.cache.labels import ABSENT, LabelColumn
from stowplan.cache.nodes import NodeTable
from stowplan.cache.selection import AffinityTerm, Clause, PodClass, PodSelector, TermKind, compile_term
from stowplan.cache.stores import Store, key_of

__all__ = [
    "ABSENT",
    "AffinityTerm",
    "CacheError",
    "Clause",
    "Cluster",
    "DomainCounts",
    "Footprint",
    "Journal",
    "LabelColumn",
    "NodeTable",
    "PodClass",
    "PodSelector",
    "SlotCounts",
    "Store",
    "TermKind",
    "compile_term",
    "key_of",
]
