"""The objects of an input: files, folders, standard input, and the objects of a cluster.

`read_input(names, read, live, options)` returns an `Input`: objects with their origins (`Origin`: file and path),
assumptions about objects that the input lacks, and notes for the user. `load.populate` takes its fields.

Belongs here: parsing of files (`documents`), decoding and checks of their objects (`manifests`), merging of later files
into earlier ones (`overlay`), manifests applied to a cluster (`apply`, `rollout`), autoscaled replicas (`autoscaling`),
owner references (`ownership`), missing objects (`gaps` and its parts), and checks of the input as a whole
(`input_checks`). Does not belong here: the run (`simulation`, `load`), options and terminal output (`cli`). May import
the simulator's admission, quotas and workloads, and the rooms below.
"""

from stowplan.simulator.input.documents import Origin, Read
from stowplan.simulator.input.gap import Assumption
from stowplan.simulator.input.manifests import SIMULATED
from stowplan.simulator.input.reading import Input, InputOptions, read_input

__all__ = ["SIMULATED", "Assumption", "Input", "InputOptions", "Origin", "Read", "read_input"]
