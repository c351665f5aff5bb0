"""Conversion of earlier configuration versions to kubescheduler.config.k8s.io/v1.

Belongs here: the Policy API and every version of KubeSchedulerConfiguration before v1: their types, the default plugins
of their releases, the successors of removed plugins, predicates and priorities, and a notice for every difference.
Tables hold the differences between versions; one algorithm uses them.
Does not belong here: reading files or ConfigMaps, and the validation of v1.
May import: the rest of `config`.

Upstream: pkg/scheduler/apis/config/v1beta1 and pkg/scheduler/framework/plugins/legacy_registry.go of earlier releases
"""

from stowplan.config.conversion.api_versions import API_VERSIONS, version_of
from stowplan.config.conversion.convert import V1, Converted, convert
from stowplan.config.conversion.insecure_addresses import InsecureAddress, InsecureServing
from stowplan.config.conversion.notices import Notice
from stowplan.config.conversion.sources import PolicyReader, PolicySource

__all__ = [
    "API_VERSIONS",
    "V1",
    "Converted",
    "InsecureAddress",
    "InsecureServing",
    "Notice",
    "PolicyReader",
    "PolicySource",
    "convert",
    "version_of",
]
