"""Overload in simulated time: pods arrive faster than a cluster can run them.

Arrivals are a Poisson process at a multiple of the capacity, durations are exponential with a mean of 600 s, and pods
have one of five sizes. Each pod that ends wakes the waiting pods, most of which fit nowhere, so that a pod has hundreds
of attempts. Prints pods by second of CPU time. `--afresh` decides every attempt anew, without the memory of refusals;
`--compare` runs both and requires equal bindings, events, object versions and attempts.

    python benchmarks/overload_simulation.py
    python benchmarks/overload_simulation.py --pods 5000 --compare
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from functools import partial
from random import Random
from time import process_time
from typing import NamedTuple

from stowplan import api, config
from stowplan.bench.machine import calibrate
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.report.recorder import RunRecorder
from stowplan.simulator.simulation import EPOCH, Simulation

SIZES = ((500, 1), (1000, 2), (2000, 4), (4000, 8), (8000, 16))
"""Millicores and GiB of memory."""
NODE_CORES, NODE_GIB = 32, 128
MEAN_SECONDS = 600.0


class Run(NamedTuple):
    """The figures of one run, and a digest of its results."""

    seconds: float
    attempts: int
    simulated: float
    digest: str


def node(number: int) -> api.Node:
    name = f"node-{number}"
    amounts = {"cpu": str(NODE_CORES), "memory": f"{NODE_GIB}Gi", "pods": "110"}
    meta = api.ObjectMeta(name=name, labels={"kubernetes.io/hostname": name})
    return api.Node(metadata=meta, status=api.NodeStatus(capacity=amounts, allocatable=amounts))


def pod(number: int, millicores: int, gib: int) -> api.Pod:
    requests = {"cpu": f"{millicores}m", "memory": f"{gib}Gi"}
    container = api.Container(name="c", resources=api.ResourceRequirements(requests=requests))
    meta = api.ObjectMeta(name=f"pod-{number}", namespace="default")
    return api.Pod(metadata=meta, spec=api.PodSpec(containers=(container,)))


def run(nodes: int, pods: int, load: float, seed: int, *, remembers: bool, records: bool) -> Run:
    """Simulate until every pod has run."""
    recorder = RunRecorder() if records else None
    simulation = Simulation(config.default_configuration(), REGISTRY, seed=seed, observer=recorder)
    for profile in simulation.engine.profiles.values():
        profile.refusals.enabled &= remembers
    server, random = simulation.api_server, Random(seed)
    durations: dict[str, float] = {}
    bindings: list[tuple[float, str, str]] = []

    def changed(old: api.Pod | None, new: api.Pod | None) -> None:
        if new is not None and new.spec.node_name and (old is None or not old.spec.node_name):
            now = simulation.clock.now
            bindings.append((now, new.metadata.name, new.spec.node_name))
            server.at(now + durations[new.metadata.name], partial(server.delete, new))

    server.listen(api.Pod, changed)
    for number in range(nodes):
        server.put(node(number))
    cores = sum(millicores for millicores, _ in SIZES) / len(SIZES) / 1000
    rate, arrival = load * nodes * NODE_CORES / cores / MEAN_SECONDS, EPOCH
    for number in range(pods):
        arrival += random.expovariate(rate)
        item = pod(number, *random.choice(SIZES))
        durations[item.metadata.name] = random.expovariate(1 / MEAN_SECONDS)
        server.at(arrival, partial(server.put, item))
    began = process_time()
    simulation.settle()
    while server.next_deadline() is not None and simulation.advance():
        while simulation.step():
            pass
    seconds = process_time() - began
    events = [(event.regarding.name, event.note) for event in server.events]
    attempts = {} if recorder is None else {uid: last.attempts for uid, last in recorder.last_attempts.items()}
    results = [bindings, events, attempts, simulation.engine.cycles]
    digest = hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()[:16]
    return Run(seconds, simulation.engine.cycles, simulation.clock.now - EPOCH, digest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--pods", type=int, default=14_000)
    parser.add_argument("--load", type=float, default=1.1, help="arrivals as a multiple of the capacity")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="record every attempt, as a report does")
    parser.add_argument("--afresh", action="store_true", help="without the memory of refusals")
    parser.add_argument("--compare", action="store_true", help="run with and without it; both have to be equal")
    options = parser.parse_args()
    kinds = (True, False) if options.compare else (not options.afresh,)
    digests = set()
    for remembers in kinds:
        before = calibrate()
        made = run(options.nodes, options.pods, options.load, options.seed, remembers=remembers, records=options.record)
        scaled = options.pods / made.seconds * (before + calibrate()) / 2
        digests.add(made.digest)
        sys.stdout.write(
            f"{'remembered' if remembers else 'afresh':10} {options.pods / made.seconds:8,.0f} pods/s "
            f"({scaled:,.0f} scaled), {made.seconds:.2f} CPU s, {made.attempts / options.pods:.1f} attempts a pod, "
            f"{made.simulated:,.0f} s simulated, results {made.digest}\n"
        )
    if len(digests) > 1:
        raise SystemExit("the results differ")


if __name__ == "__main__":
    main()
