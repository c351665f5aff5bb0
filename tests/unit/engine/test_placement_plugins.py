"""Out-of-tree plugins with PlacementGenerate and PlacementScore, in pod group cycles of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
import pytest
from tests.builders import Json, node
from tests.builders.engine_host import Host
from tests.builders.objects import profile_config
from tests.unit.engine.grouped import bound, condition, group, members

from stowplan.config import IN_TREE_PLUGINS, from_builtins
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE
from stowplan.config.releases import LATEST
from stowplan.framework import CycleState, Nodes, Placement, Plugin, PodGroupAssignments, PodGroupInfo
from stowplan.runtime import enable_everywhere

PAIRS = {"n0": "east", "n1": "east", "n2": "west", "n3": "west"}


class ByName(Plugin):
    """One placement for each half of the nodes."""

    name = "ByName"
    pairs: ClassVar[Mapping[str, str]] = PAIRS

    def generate_placements(self, state: CycleState, group: PodGroupInfo, parent: Placement) -> Iterable[Placement]:
        infos = [info for _, info in parent.nodes.infos()]
        for half in sorted(set(self.pairs.values())):
            chosen = [info for info in infos if self.pairs.get(info.name) == half]
            yield Placement(half, Nodes(np.array([info.slot for info in chosen]), len(chosen), infos))


class NowhereElse(ByName):
    """A single placement of one node."""

    pairs: ClassVar[Mapping[str, str]] = {"n3": "west"}


class PreferWest(Plugin):
    """Prefers one placement."""

    name = "PreferWest"
    wanted = "west"

    def score_placement(self, state: CycleState, group: PodGroupInfo, given: PodGroupAssignments) -> int:
        assert [pod.name for pod, _ in given.assignments] == [pod.name for pod in group.members]
        return 100 * (given.placement.name == self.wanted)


class PreferEast(PreferWest):
    wanted = "east"


def host(*plugins: type[Plugin], rack: str = "", cpu: int = 4) -> Host:
    """A gang of two on four nodes; with `rack`, TopologyPlacementGenerator makes the placements."""
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, GANG_SCHEDULING, TOPOLOGY_AWARE), True))
    added = {plugin.name: plugin for plugin in plugins}
    sets: Json = {}
    if not rack:
        sets["placementGenerate"] = {"disabled": [{"name": "TopologyPlacementGenerator"}]}
    config = from_builtins(profile_config(sets), "config", frozenset((*IN_TREE_PLUGINS, *added)), release)
    nodes = [node(name, cpu=cpu, labels={"half": half}) for name, half in PAIRS.items()]
    gang = group(min_count=2, rack=rack)
    made = Host(*nodes, gang, *members(2), config=enable_everywhere(config, added), plugins=added)
    made.schedule()
    return made


@pytest.mark.parametrize(("scorer", "nodes"), [(PreferWest, {"n2", "n3"}), (PreferEast, {"n0", "n1"})])
@pytest.mark.parametrize("rack", ["", "half"])
def test_the_group_runs_in_the_placement_with_the_best_score(scorer: type[Plugin], nodes: set[str], rack: str) -> None:
    made = host(scorer, *([] if rack else [ByName]), rack=rack, cpu=1)
    assert set(bound(made).values()) == nodes


def test_the_group_stays_within_the_placements_of_a_plugin() -> None:
    assert bound(host(NowhereElse)) == {"g-0": "n3", "g-1": "n3"}


def test_a_group_that_fits_in_no_placement_of_a_plugin_waits() -> None:
    """Two members fit into the cluster, one into the placement."""
    made = host(NowhereElse, cpu=1)
    assert bound(made) == {}
    found = condition(made)
    assert found is not None
    assert found[:2] == ("False", "Unschedulable")
    assert found[2].startswith("0/1 placements are available")
