"""Running plugins: configuration in, decisions out.

Belongs here: profiles (`profile`), the pipeline of a decision (`decide`), runners of the other extension points
(`points`), the preemption search (`preemption`), pod group cycles (`groups`), the wrapper around out-of-tree plugins
(`out_of_tree`).
Does not belong here: queues, binding, I/O, single rules about pods and nodes.
May import: `plugins`, `queue`, `cache`, `config`, `framework`, `api`.
"""

from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.profile.build import Factory, Registry, build_profiles, enable_everywhere
from stowplan.runtime.profile.profile import Profile

__all__ = ["Decision", "Factory", "Profile", "Registry", "build_profiles", "enable_everywhere"]
