"""Measures explanations of a running scheduler, and of a snapshot: 5,000 nodes, 50,000 pods.

    python benchmarks/live_explain.py

The scheduler's engine is fed with the objects as its reflectors would, and answers in slices as its loop runs them.
Then `stowplan explain` reads the same objects from a snapshot file, and `stowplan what-if` drains a zone of it. Times
are CPU times where a loop would wait; scaled times are those of a machine that takes one second for ten million
additions.
"""

from __future__ import annotations

import gc
import random
import resource
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.bench.machine import calibrate
from stowplan.config import default_configuration
from stowplan.engine import Engine
from stowplan.framework import Bind, PatchStatus
from stowplan.insight.insight import Insight
from stowplan.plugins.registry import REGISTRY
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.simulator.input.snapshot_file import encode_snapshot, make_header, sanitized

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
POOLS = ("general", "general", "compute", "highmem", "spot")
OWN = {"labelSelector": {"matchLabels": {"app": "checkout"}}}
APP = {"labelSelector": {"matchLabels": {"app": "app-1"}}}
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **OWN}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PENDING: dict[str, dict[str, Any]] = {
    "too-large": {},
    "spread": {"topologySpreadConstraints": [SPREAD]},
    "hostnames": {"topologySpreadConstraints": [{**SPREAD, "topologyKey": HOSTNAME, **APP}]},
    "selector": {"nodeSelector": {"pool": "compute"}},
    "nowhere": {"nodeSelector": {"pool": "none"}},
    "apart": {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": ZONE, **OWN}]}}},
}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def node(number: int) -> api.Node:
    name, pool = f"node-{number:05}", POOLS[number % len(POOLS)]
    labels = {HOSTNAME: name, ZONE: f"zone-{number % 3}", "pool": pool}
    taints = [{"key": "spot", "value": "true", "effect": "NoSchedule"}] if pool == "spot" else []
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    document = {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": number % 500 == 7},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    return codec.convert(api.Node, document)


def pod(name: str, on: str, cpu: str, app: str, spec: dict[str, Any], priority: int = 0) -> api.Pod:
    requests = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    metadata = {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app}, "ownerReferences": [owner]}
    document = {
        "metadata": metadata,
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "app", "resources": requests}],
            "priority": priority,
            **({"nodeName": on} if on else {}),
            **spec,
        },
    }
    return codec.convert(api.Pod, document)


def objects(nodes: int, pods: int) -> list[Any]:
    rng = random.Random(7)
    sizes = ("250m", "500m", "1", "1500m")
    return [
        *(node(number) for number in range(nodes)),
        *(
            pod(f"p-{number:05}", f"node-{number % nodes:05}", rng.choice(sizes), f"app-{number % 400}", {})
            for number in range(pods)
        ),
        *(pod(name, "", "14", "checkout", spec) for name, spec in PENDING.items()),
    ]


def attempt(engine: Engine) -> None:
    """Runs cycles until no pod is ready; the pods get their conditions."""
    while engine.schedule_one():
        for instruction in engine.take():
            if isinstance(instruction, PatchStatus) and instruction.condition is not None:
                engine.pending[instruction.pod.uid].conditions = (instruction.condition,)
            elif isinstance(instruction, Bind):
                engine.answer(instruction, None)


def explain_live(items: list[Any]) -> None:
    clock = time.monotonic
    engine = Engine(default_configuration(), REGISTRY, clock=clock, rng=random.Random(0))
    for item in items:
        engine.put(item)
    attempt(engine)
    gc.collect()
    gc.freeze()
    answers = Answers(engine, lambda: None, time.thread_time)
    insight = Insight(engine, clock, time.time, last_message=last_message(engine), running=True)
    live = LiveInsight(insight, engine, answers, lambda: True)
    say("live scheduler            CPU ms  longest slice ms  verdict")
    questions: dict[str, Callable[[], Future[Any]]] = {
        **{name: partial(live.explain, "shop", name, 5) for name in PENDING},
        "placed": partial(live.explain, "shop", "p-00100", 5),
        "why-not": partial(live.why_not, "shop", "spread", "node-00003"),
        "pending": partial(live.pending, "shop"),
    }
    for name, ask in questions.items():
        for turn in ("first", "again"):
            future = ask()
            slices, before = [0.0], time.thread_time()
            while not future.done():
                began = time.thread_time()
                answers.run_slice(busy=False)
                slices.append(time.thread_time() - began)
            spent = time.thread_time() - before
            verdict = getattr(future.result(), "verdict", "")
            say(f"  {name:<12} {turn:<8} {spent * 1e3:8.1f}  {max(slices) * 1e3:16.2f}  {verdict}".rstrip())


def explain_snapshot(items: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for compress in (False, True):
            file = Path(folder) / ("cluster.json.gz" if compress else "cluster.json")
            header = make_header(time.time(), "benchmark", "shop")
            began = time.process_time()
            file.write_bytes(encode_snapshot(header, sanitized(items), compress=compress))
            written = time.process_time() - began
            say(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB, encoded in {written:.1f} s of CPU")
            run("explain", "too-large", "--from", str(file))
        run("what-if", "--from", str(file), "--drain", f"{ZONE}=zone-0")


def run(*arguments: str) -> None:
    """Run a command, and print what it took."""
    before_loop, began, before = calibrate(), time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "stowplan", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    scaled = wall / ((before_loop + calibrate()) / 2)
    say(f"{arguments[0]}: {cpu:.1f} s of CPU, {wall:.1f} s of time ({scaled:.1f} scaled), status {done.returncode}")
    say(f"  {(done.stdout or done.stderr).splitlines()[0]}")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    given = parser.parse_args()
    items = objects(given.nodes, given.pods)
    explain_live(items)
    explain_snapshot(items)


if __name__ == "__main__":
    main()
