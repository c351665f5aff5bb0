"""Explanations held to what they propose: every change is applied to the manifests, and the pod decided again.

Cases are the recorded ones, and variants of them whose pods are harder to place. `python -m tests.property.proposals
--proposals 10000` checks so many proposals and prints the failures.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from tests.builders import Json, World
from tests.conformance.recorded import CATEGORIES, recorded

from stowplan.errors import StowplanError
from stowplan.evaluation.case import read_case
from stowplan.framework import Change, Explanation
from stowplan.insight.explain import explain, run
from stowplan.insight.json_patch import apply_patch
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.points.cycle_error import CycleError


class Checked(NamedTuple):
    """The proposals of one explanation, and those that do not hold."""

    kinds: list[str]
    failures: list[str]
    verdict: str


def cases(seed: int) -> Iterator[tuple[str, Json]]:
    """Recorded cases in random order, again and again, each time with another variation."""
    rng = random.Random(seed)
    for turn in range(100):
        categories = list(CATEGORIES)
        rng.shuffle(categories)
        for category in categories:
            entries = list(recorded(category))
            rng.shuffle(entries)
            for entry in entries[:40]:
                case: Json = msgspec.json.decode(entry.case)
                yield f"{entry.id}/{turn}", case if turn == 0 else varied(rng, case)


def varied(rng: random.Random, case: Json) -> Json:
    """A case that is harder for its pod: larger requests, tainted and cordoned nodes, a further selector."""
    spec = case["pod"]["spec"]
    way = rng.randrange(4)
    if way == 0:
        for container in spec.get("containers", []):
            requests = container.setdefault("resources", {}).setdefault("requests", {})
            requests["cpu"] = rng.choice(["900m", "1500m", "3", "7", "15", "64"])
            requests["memory"] = rng.choice(["100Mi", "1Gi", "6Gi", "30Gi", "200Gi"])
    elif way == 1:
        for node in case.get("nodes", []):
            if rng.random() < 0.9:
                taint = {"key": rng.choice(["a", "b"]), "value": rng.choice(["x", ""]), "effect": "NoSchedule"}
                node.setdefault("spec", {}).setdefault("taints", []).append(taint)
    elif way == 2:
        for node in case.get("nodes", []):
            node.setdefault("spec", {})["unschedulable"] = True
    else:
        spec.setdefault("nodeSelector", {})[rng.choice(["zone", "disk", "kubernetes.io/hostname"])] = "a"
    return case


def check(case: Json, most: int = 100) -> Checked:
    """Explain the pod of a case, apply each proposal to the case, and decide again."""
    world, pod = World.of_case(read_case(msgspec.json.encode(case)))
    try:
        explanation: Explanation = run(explain(world.profile, pod, top=3))
    except CycleError:
        return Checked([], [], "")
    kinds: list[str] = []
    failures: list[str] = []
    for proposal in explanation.proposals[:most]:
        kinds.append(f"proposal {proposal.change.kind}")
        if proposal.change.kind in ("priority", "add"):
            failures += [f"{proposal.change.text}: does not help"] * (not helps(case, proposal.change))
            continue
        feasible = feasible_after(case, proposal.change)
        if len(feasible) != proposal.opens or proposal.best not in feasible:
            failures.append(f"{proposal.change.text}: {proposal.opens} nodes with {proposal.best}, found {feasible}")
    for node in explanation.closest:
        for change in node.changes:
            if not change.starts:
                kinds.append(f"closest {change.kind}{' and others' if change.parts else ''}")
                if node.node not in feasible_after(case, change):
                    failures.append(f"{node.node}: {change.text}: the pod does not fit")
    if explanation.verdict == "never" and feasible_in_empty_cluster(case):
        failures.append("never: the pod fits into the empty cluster")
    return Checked(kinds, failures, explanation.verdict)


def feasible_in_empty_cluster(case: Json) -> bool:
    """Whether a node is feasible without any other pod, and with all nodes uncordoned."""
    case = msgspec.json.decode(msgspec.json.encode(case)) | {"pods": [], "nominatedPods": []}
    for node in case.get("nodes", []):
        node.get("spec", {}).pop("unschedulable", None)
    world, pod = World.of_case(read_case(msgspec.json.encode(case)))
    return len(Diagnosis(world.profile, pod, plain=True).run().feasible) > 0


def helps(case: Json, change: Change) -> bool:
    """Whether a higher priority finds victims, or a further node has room."""
    case = msgspec.json.decode(msgspec.json.encode(case))
    case["pod"].get("status", {}).pop("nominatedNodeName", None)
    if change.kind == "priority":
        case["pod"] = apply_patch(case["pod"], change.patch)
        world, pod = World.of_case(read_case(msgspec.json.encode(case)))
        return world.profile.decide_afresh(pod).preemption is not None
    like = next(node for node in case["nodes"] if node["metadata"]["name"] == change.node)
    node = msgspec.json.decode(msgspec.json.encode(like))
    node["metadata"] |= {"name": "further", "uid": "further"}
    if "kubernetes.io/hostname" in node["metadata"].get("labels", {}):
        node["metadata"]["labels"]["kubernetes.io/hostname"] = "further"
    case["nodes"].append(node)
    world, pod = World.of_case(read_case(msgspec.json.encode(case)))
    diagnosis = Diagnosis(world.profile, pod, plain=True).run()
    return world.cluster.nodes.slot_of["further"] in diagnosis.feasible.tolist()


def feasible_after(case: Json, change: Change) -> list[str]:
    """The nodes on which the pod fits after the change."""
    case = msgspec.json.decode(msgspec.json.encode(case))
    for part in change.parts or (change,):
        if part.on == "pod":
            case["pod"] = apply_patch(case["pod"], part.patch)
        elif part.patch:
            case["nodes"] = [
                apply_patch(node, part.patch) if node["metadata"]["name"] == part.node else node
                for node in case["nodes"]
            ]
    case["pod"].get("status", {}).pop("nominatedNodeName", None)  # All nodes are filtered, not the nominated one alone.
    leaving = {each.pod for each in change.pods}
    case["pods"] = [pod for pod in case.get("pods", []) if _key(pod) not in leaving]
    world, pod = World.of_case(read_case(msgspec.json.encode(case)))
    infos = world.cluster.nodes.infos
    feasible = Diagnosis(world.profile, pod, plain=True).run().feasible.tolist()
    return [info.name for slot in feasible if (info := infos[slot]) is not None]


def _key(pod: Any) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proposals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    failed = 0
    for name, case in cases(options.seed):
        try:
            checked = check(case)
        except StowplanError as error:
            sys.stdout.write(f"{name}: {error}\n")
            continue
        kinds.update(checked.kinds)
        verdicts[checked.verdict] += 1
        failed += len(checked.failures)
        for failure in checked.failures:
            sys.stdout.write(f"{name}: {failure}\n")
        if kinds.total() >= options.proposals:
            break
    sys.stdout.write(f"{kinds.total():,} proposals, {failed} failed; {dict(kinds)}; verdicts {dict(verdicts)}\n")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
