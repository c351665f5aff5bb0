"""The scheduler's cache: the cluster as columns.

Belongs here: nodes as slots with NumPy columns, label and image tables, pods interned by template, counts of pods by
selector and affinity term, assumed pods, the states of pod groups, the what-if journal, trials, stores of the other API
objects, and the classes that keep answers between cycles (`kept`, `lru_map`).
Does not belong here: scheduling rules, clocks, I/O.
May import: `config`, `framework`, `api`.

Upstream: pkg/scheduler/backend/cache/cache.go
"""

from stowplan.cache.cluster import CacheError, Cluster, Footprint
from stowplan.cache.counts import DomainCounts, SlotCounts
from stowplan.cache.journal import Journal
from stowplan.cache.labels import ABSENT, LabelColumn
from stowplan.cache.nodes import NodeTable
from stowplan.cache.selection import AffinityTerm, Clause, PodClass, PodSelector, TermKind, compile_term
from stowplan.cache.stores import Store, key_of
from stowplan.cache.trial import Trial

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
    "Trial",
    "compile_term",
    "key_of",
]
