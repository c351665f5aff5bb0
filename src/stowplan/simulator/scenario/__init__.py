"""Scenarios: what happens in a simulated cluster over time, as one YAML document.

Belongs here: the document's fields (`schema`), times, rates and random quantities (`quantities`), arrivals, replicas,
workloads, node pools, churn, failures and descheduling as checked values, reading (`reading`), and the simulation of a
scenario (`scenario_simulation`). Does not belong here: metrics and results (`study`), the life of pods and nodes
(`kubelet`, `node_lifecycle`), the autoscaler, the descheduler. May import the rest of the simulator and the rooms below
it.
"""

from stowplan.simulator.scenario.reading import LoadedScenario, compile_scenario, load_scenario
from stowplan.simulator.scenario.scenario_simulation import ScenarioSimulation

__all__ = ["LoadedScenario", "ScenarioSimulation", "compile_scenario", "load_scenario"]
