"""Configurations of earlier releases, brought to kubescheduler.config.k8s.io/v1.

Belongs here: the Policy API and every version of KubeSchedulerConfiguration before v1: their shapes, the default
plugins of their releases, what does the work of each plugin, predicate and priority today, and a notice wherever the
result cannot mean quite the same. Tables say what differs from era to era; the way from a table to a result is one.
Does not belong here: reading files or ConfigMaps, and the rules that v1 itself has.
May import: the rest of `config`.
"""

from stowplan.config.conversion.api_versions import ERAS, era_of
from stowplan.config.conversion.convert import V1, Converted, convert
from stowplan.config.conversion.insecure_addresses import InsecureAddress, InsecureServing
from stowplan.config.conversion.notices import Notice
from stowplan.config.conversion.sources import PolicyReader, PolicySource

__all__ = [
    "ERAS",
    "V1",
    "Converted",
    "InsecureAddress",
    "InsecureServing",
    "Notice",
    "PolicyReader",
    "PolicySource",
    "convert",
    "era_of",
]
