"""A run that is shown on a terminal while it happens.

Belongs here: runs in steps (`watched_run`), their pace (`playback`), the state that is shown (`node_cells`,
`cluster_summary`, `recent_events`), and its rendering (`view`, `node_map`). Does not belong here: the terminal and its
keys (`cli`), the scenario of the demo (`demo`). May import the simulator and the rooms below it.
"""

from stowplan.simulator.watch.cluster_summary import ClusterSummary
from stowplan.simulator.watch.playback import Playback
from stowplan.simulator.watch.view import final_lines, live_view, plain_line
from stowplan.simulator.watch.watched_run import FileRun, WatchedRun

__all__ = ["ClusterSummary", "FileRun", "Playback", "WatchedRun", "final_lines", "live_view", "plain_line"]
