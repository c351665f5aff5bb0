"""The objects of an input: files, folders, standard input, and the objects of a cluster.

Belongs here: parsing of files (`documents`), decoding and validation of their objects (`manifests`), owner references
(`ownership`), checks of the input as a whole (`input_checks`), and manifests applied to a cluster (`apply`, `rollout`).
Does not belong here: the run (`simulation`, `load`), options and terminal output (`cli`). May import the simulator's
admission and workloads, and the rooms below.
"""

from stowplan.simulator.input.documents import Origin, Read
from stowplan.simulator.input.gap import Assumption
from stowplan.simulator.input.manifests import SIMULATED
from stowplan.simulator.input.reading import Input, InputOptions, read_input

__all__ = ["SIMULATED", "Assumption", "Input", "InputOptions", "Origin", "Read", "read_input"]
