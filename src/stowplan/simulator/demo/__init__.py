"""The demo: one minute of a cluster with a few hundred nodes.

Belongs here: the scenario as data (the YAML files), and its execution (`scenario_run`). Does not belong here: anything
that other simulations could use; the view is in `watch`. May import the simulator and the rooms below it.
"""

from stowplan.simulator.demo.scenario import DemoScenario, load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun

__all__ = ["DemoScenario", "ScenarioRun", "load_scenario"]
