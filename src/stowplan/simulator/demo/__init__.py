"""The demo: a cluster of a few hundred nodes on which much happens within a minute.

Belongs here: the scenario as data (the YAML files), carrying it out (`stage`), keeping it in step with real time
(`drive`), what there is to see at a moment (`glimpse`, `feed`), and how that is drawn (`view`). Does not belong here:
whatever another simulation could use as well. May import the simulator and what is below it.
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
