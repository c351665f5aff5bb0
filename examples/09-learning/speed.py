"""Measures the environment: steps per CPU second with random actions on 500 nodes, without the agent's own time.

The scaled figure is normalized to a machine that takes one second for a loop of ten million additions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import yaml

from stowplan.bench.machine import calibrate
from stowplan.gym import PlaceEnv, random_agent
from stowplan.simulator.scenario import LoadedScenario, compile_scenario

FOLDER = Path(__file__).parent
ARRIVALS_PER_NODE = 40


def busy_scenario(nodes: int) -> LoadedScenario:
    """The example's scenario with so many nodes, and arrivals that keep them busy."""
    document = yaml.safe_load((FOLDER / "scenario.yaml").read_text())
    document["nodes"]["pools"][0]["count"] = nodes
    for workload in document["workloads"]:
        workload["arrivals"]["poisson"]["rate"] = f"{nodes * ARRIVALS_PER_NODE / len(document['workloads'])}/h"
    document["workloads"][1]["duration"] = "1m"
    return compile_scenario(document, "speed", FOLDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--steps", type=int, default=10_000)
    given = parser.parse_args()
    before = calibrate()
    env = PlaceEnv(busy_scenario(given.nodes), nodes=given.nodes)
    agent, seed = random_agent(), 0
    observation, _ = env.reset(seed=seed)
    seconds = 0.0
    for _ in range(given.steps):
        action = agent(observation)
        begin = process_time()
        observation, _, ended, _, _ = env.step(action)
        seconds += process_time() - begin
        if ended:
            seed += 1
            observation, _ = env.reset(seed=seed)
    rate, scale = given.steps / seconds, (before + calibrate()) / 2
    sys.stdout.write(f"{given.nodes} nodes: {rate:,.0f} steps per CPU second, {rate * scale:,.0f} scaled\n")


if __name__ == "__main__":
    main()
