"""The demo: one minute of a cluster with a few hundred nodes.

Belongs here: the scenario as data (the YAML files), its execution (`scenario_run`) in step with real time (`playback`),
the state that is shown (`cluster_summary`, `recent_events`), and its rendering (`view`). Does not belong here: anything
that other simulations could use. May import the simulator and the rooms below it.
"""

from stowplan.simulator.demo.cluster_summary import ClusterSummary
from stowplan.simulator.demo.playback import Playback
from stowplan.simulator.demo.scenario import DemoScenario, load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.demo.view import final_lines, live_view, plain_line

__all__ = [
    "ClusterSummary",
    "DemoScenario",
    "Playback",
    "ScenarioRun",
    "final_lines",
    "live_view",
    "load_scenario",
    "plain_line",
]
