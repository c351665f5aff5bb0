"""Running plugins: configuration in, decisions out.

Belongs here: building profiles, one runner for each shape of extension point, the plain pass over all nodes (`survey`)
and the fast one that remembers (`plan`), host selection, nominated pods, the preemption search, care with plugins that
are not ours. Does not belong here: queues, binding, I/O, any rule about pods and nodes. May import everything below.
"""

from stowplan.runtime.decide.decision import Decision
from stowplan.runtime.profile.build import Factory, Registry, build_profiles, enable_everywhere
from stowplan.runtime.profile.profile import Profile

__all__ = ["Decision", "Factory", "Profile", "Registry", "build_profiles", "enable_everywhere"]
