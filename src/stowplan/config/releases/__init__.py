"""Releases of kube-scheduler whose decisions are available, and what changed between them.

Belongs here: the table of releases, their feature gates, and the rules that changed without a gate. A consumer reads
the values of one `Release` when it is built; nothing compares version numbers.
Does not belong here: the code of a rule, which stays with its plugin. May import what `config` may, but nothing of
`config` itself.
"""

from stowplan.config.releases.release import DeviceRules, FeatureGate, Release, Rules
from stowplan.config.releases.table import LATEST, OLDEST, RELEASES, release_of

__all__ = ["LATEST", "OLDEST", "RELEASES", "DeviceRules", "FeatureGate", "Release", "Rules", "release_of"]
