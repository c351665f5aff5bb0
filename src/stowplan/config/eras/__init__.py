"""Configurations of earlier releases, brought to kubescheduler.config.k8s.io/v1.

Belongs here: the Policy API and every version of KubeSchedulerConfiguration before v1: their shapes, the default
plugins of their releases, what does the work of each plugin, predicate and priority today, and a notice wherever the
result cannot mean quite the same. Tables say what differs from era to era; the way from a table to a result is one.
Does not belong here: reading files or ConfigMaps, and the rules that v1 itself has.
May import: the rest of `config`.
"""

from stowplan.config.eras.addresses import Address, PlainHTTP
from stowplan.config.eras.convert import V1, Converted, convert
from stowplan.config.eras.notices import Notice
from stowplan.config.eras.sources import PolicyReader, PolicySource
from stowplan.config.eras.versions import ERAS, era_of

__all__ = [
    "ERAS",
    "V1",
    "Address",
    "Converted",
    "Notice",
    "PlainHTTP",
    "PolicyReader",
    "PolicySource",
    "convert",
    "era_of",
]
