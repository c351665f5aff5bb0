"""One plugin, three ways to run it: behind kube-scheduler, inside our scheduler, and behind our scheduler.

On random clusters the same nodes have to be feasible each time, and the node that is chosen has to be one of those with
the highest total. Totals differ: behind a scheduler the plugin's scores are 0 to 10, inside 0 to 100.

    STOWPLAN_THREE_MODES=100 pytest tests/e2e/test_three_modes.py    # so many clusters, and both list modes
"""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import pytest
from tests.builders import Json
from tests.e2e.conftest import StartStowplan

from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, Process, free_port, node, pod, wait_until
from stowplan.testing.extender import check_extender

CLUSTERS = int(os.environ.get("STOWPLAN_THREE_MODES", "0"))
PLUGIN = f"{Path(__file__).parent}/racks.py:Racks"
WEIGHT = 3

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600 if CLUSTERS else 300)]

_pod = re.compile(r' pod="[^"/]*/([^"]+)"').search
_score = re.compile(r' node="([^"]+)" score=(-?\d+)').search


class Seen(NamedTuple):
    """What became of a pod: where it went, and what the feasible nodes came to; nothing is told of one alone."""

    node: str
    totals: dict[str, int]

    @property
    def feasible(self) -> set[str]:
        return set(self.totals) or ({self.node} if self.node else set())


def random_cluster(number: int, namespace: str, rng: random.Random) -> tuple[list[Json], list[Json], Json]:
    """(nodes, pods that run, a pod to be scheduled). The pod keeps to its cluster by a label."""
    nodes, running = [], []
    mine = {"cluster": f"c{number}"}
    for i in range(rng.randint(2, 14)):
        labels = {**mine, "tier": rng.choice("ab"), "rack": str(rng.randint(0, 100)), "zone": f"c{number}-{i % 3}"}
        made = node(f"c{number}-n{i}", cpu=str(rng.choice((2, 4, 8, 16))), labels=labels)
        if rng.random() < 0.15:
            made["metadata"]["annotations"] = {"retired": "yes"}
        if rng.random() < 0.15:
            made["spec"] = {"taints": [{"key": "reserved", "value": "x", "effect": rng.choice(EFFECTS)}]}
        nodes.append(made)
        cpu = str(rng.choice((1, 2)))
        running += [
            pod(f"c{number}-n{i}-r{j}", namespace, cpu=cpu, nodeName=made["metadata"]["name"])
            for j in range(rng.randint(0, 2))
        ]
    labels = {
        **({"tier": rng.choice("ab")} if rng.random() < 0.7 else {}),
        **({"big": ""} if rng.random() < 0.3 else {}),
    }
    tolerations = [{"operator": "Exists"}] if rng.random() < 0.3 else []
    wanting = pod(
        f"c{number}",
        namespace,
        cpu=rng.choice(("100m", "1", "3")),
        labels=labels,
        nodeSelector=mine,
        tolerations=tolerations,
    )
    return nodes, running, wanting


EFFECTS = ("NoSchedule", "PreferNoSchedule")


def seen_in(log: Path, places: dict[str, str], pods: list[str]) -> dict[str, Seen]:
    """Totals as both schedulers log them, of the last attempt for each pod."""
    totals: dict[str, dict[str, int]] = {name: {} for name in pods}
    for line in log.read_text(errors="replace").splitlines():
        about = _pod(line)
        if about is None:
            continue
        if '"Attempting to schedule pod"' in line:
            totals[about[1]] = {}
        elif "Calculated node's final score for pod" in line:
            told = _score(line)
            assert told is not None
            totals[about[1]][told[1]] = int(told[2])
    return {name: Seen(places.get(name, ""), totals[name]) for name in pods}


@contextmanager
def serving(control_plane: ControlPlane, folder: Path) -> Iterator[str]:
    """`stowplan extender` with the plugin; its address."""
    port = free_port()
    access = f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}"
    command = [sys.executable, "-m", "stowplan", "extender", f"--plugin={PLUGIN}", f"--port={port}", access]
    process = Process("extender", command, folder / "extender.log")
    process.start()
    try:
        process.wait_ready(lambda: _answers(f"http://127.0.0.1:{port}/readyz"))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


class Trial:
    """The clusters, all at once, and one scheduler after another on them."""

    def __init__(self, api: KubeApi, namespace: str, clusters: int) -> None:
        rng = random.Random(20)
        self._api = api
        self._namespace = namespace
        self.wanting: list[Json] = []
        for number in range(clusters):
            nodes, running, wanting = random_cluster(number, namespace, rng)
            api.create_all(nodes)
            api.create_all(running)
            self.wanting.append(wanting)

    def run(self, start: Callable[[], Process]) -> dict[str, Seen]:
        names = [each["metadata"]["name"] for each in self.wanting]
        self._api.create_all(self.wanting)
        process = start()
        places: dict[str, str] = {}

        def all_decided() -> bool:
            pods = {p["metadata"]["name"]: p for p in self._api.list("Pod", self._namespace)}
            places.update({name: pods[name]["spec"].get("nodeName", "") for name in names})
            return all(pods[name]["status"].get("conditions") for name in names)

        wait_until(all_decided, timeout=60)
        process.stop()
        for name in names:
            self._api.delete("Pod", name, self._namespace, gracePeriodSeconds=0)
        return seen_in(process.log, places, names)


@pytest.mark.parametrize("cached", [True, False] if CLUSTERS else [True])
def test_the_same_nodes_are_feasible_and_one_of_the_best_is_chosen(
    cached: bool,
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    start_stowplan: StartStowplan,
    start_kube_scheduler: Callable[..., Any],
    tmp_path: Path,
) -> None:
    trial = Trial(kube_api, namespace, CLUSTERS or 6)
    inside = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Racks", "weight": WEIGHT}]}}}]}
    with serving(control_plane, tmp_path) as prefix:
        entry = {"urlPrefix": prefix, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": WEIGHT}
        outside = {"extenders": [{**entry, "nodeCacheCapable": cached}]}
        modes = {
            "behind kube-scheduler": trial.run(lambda: start_kube_scheduler(config=outside, flags=["-v=10"]).process),
            "inside": trial.run(lambda: start_stowplan("-v=10", f"--plugin={PLUGIN}", config=inside, name="inside")),
            "behind stowplan": trial.run(lambda: start_stowplan("-v=10", config=outside, name="behind")),
        }
        nodes = kube_api.list("Node")[:5]
        findings = check_extender(prefix, filter_verb="filter", prioritize_verb="prioritize", nodes=nodes, fuzz=33)
        # Schedulers of old do not know of nodes that nothing helps, so they have no reason to tell.
        known = [each for each in findings if each.level == "error" or each.release.startswith(("v1.36", "newer"))]
        assert not known, "\n".join(map(str, known))
    reference = modes["behind kube-scheduler"]
    for mode, seen in modes.items():
        for name, each in seen.items():
            assert each.feasible == reference[name].feasible, (mode, name)
            if each.totals:
                best = max(each.totals.values())
                assert each.totals[each.node] == best, (mode, name, each)
    counts = [len(each.feasible) for each in reference.values()]
    same = sum(len({seen[name].node for seen in modes.values()}) == 1 for name in reference)
    print(f"clusters {len(counts)}, feasible nodes {counts}, same node in all modes {same}")  # noqa: T201
    assert any(counts)
