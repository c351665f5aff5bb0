"""Trains a linear policy by the cross-entropy method, and compares it with random nodes and with the default profile.

The reward is the negated time that pods wait. Seeds of the comparison are not those of the training.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from stowplan.gym import NODE_FEATURES, PlaceEnv, linear_policy, policy_agent, random_agent
from stowplan.gym.agents import Agent

SCENARIO = Path(__file__).with_name("scenario.yaml")


def episode(env: PlaceEnv, agent: Agent | None, seed: int) -> float:
    """The sum of rewards of one episode; without an agent the default profile chooses."""
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, not observation["action_mask"].any()
    while not done:
        action = env.profile_action() if agent is None else agent(observation)
        observation, reward, ended, truncated, _ = env.step(action)
        total += reward
        done = ended or truncated
    return total


def train(env: PlaceEnv, seconds: float, seed: int, generations: int | None = None) -> np.ndarray:
    """The mean of the best weights, generation by generation, until the time is over or the number is reached."""
    rng = np.random.default_rng(seed)
    mean, deviation = np.zeros(len(NODE_FEATURES)), np.ones(len(NODE_FEATURES))
    end = time.monotonic() + seconds
    generation = 0
    while time.monotonic() < end and generation != generations:
        candidates = rng.normal(mean, deviation, (12, len(NODE_FEATURES)))
        seeds = [1000 + 2 * generation, 1001 + 2 * generation]
        scores = [sum(episode(env, policy_agent(linear_policy(each)), s) for s in seeds) for each in candidates]
        best = candidates[np.argsort(scores)[-3:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
        generation += 1
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument(
        "--generations", type=int, help="train so many, if the time suffices: equal seeds give equal weights"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    env = PlaceEnv(SCENARIO, nodes=16, reward="-wait")
    weights = train(env, given.seconds, given.seed, given.generations)
    agents = {
        "random": random_agent(given.seed),
        "default profile": None,
        "trained": policy_agent(linear_policy(weights)),
    }
    for name, agent in agents.items():
        waits = [-episode(env, agent, seed) for seed in range(given.episodes)]
        print(f"{name:<16}{np.mean(waits):8.2f} pod hours of waiting")  # noqa: T201
    if given.out:
        np.save(given.out, weights)


if __name__ == "__main__":
    main()
