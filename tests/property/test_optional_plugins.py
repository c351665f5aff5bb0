"""Optional plugins on random walks: their two forms agree, and kept answers are those of decisions made afresh."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.builders.objects import make
from tests.property.test_cached_results import check
from tests.property.test_forms import check_filters, check_scores
from tests.property.vocabulary import NODES, PODS
from tests.property.walk import NAMES, STEPS, Step, Walk

from stowplan.config.args import ARGS
from stowplan.optional_plugins.registry import MODULES, optional_classes
from stowplan.runtime.profile.plugin_args import in_tree_args

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))
WALKED = [name for name in sorted(MODULES) if name not in ("Coscheduling", "FractionalGPU", "QOSSort")]
LOADED = ("LoadVariationRiskBalancing", "LowRiskOverCommitment", "TargetLoadPacking")

pod_shapes = st.integers(0, len(PODS) - 1)
steps = st.tuples(st.sampled_from(sorted(STEPS)), pod_shapes, st.integers(0, 100))


@pytest.fixture(scope="module")
def load_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metrics of most nodes."""
    random = Random(4)
    metrics = {
        name: {
            "metrics": [
                {"type": kind, "operator": operator, "value": random.uniform(0, 100)}
                for kind in ("CPU", "Memory")
                for operator in ("AVG", "STD", "Latest")
                if random.random() < 0.8
            ]
        }
        for name in NAMES[: len(NAMES) * 3 // 4]
    }
    file = tmp_path_factory.mktemp("load") / "load.json"
    file.write_text(json.dumps({"window": {"end": 0}, "data": {"NodeMetricsMap": metrics}}))
    return file


def factories(names: list[str], load_file: Path) -> dict[str, Any]:
    args: dict[str, Any] = {
        "NodeMetadata": {
            "metadataKey": "rank",
            "metadataSource": "Label",
            "metadataType": "Number",
            "scoringStrategy": "Lowest",
        },
        **{name: {"metricProvider": {"type": "File", "address": str(load_file)}} for name in LOADED},
        "NodeResourceTopologyMatch": {"scoringStrategy": {"type": "LeastNUMANodes"}},
    }

    def factory(name: str, kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda _, handle: kind(in_tree_args(name, args.get(name)), handle)

    assert set(names) <= set(ARGS)
    return {name: factory(name, kind) for name, kind in optional_classes(names).items()}


def report(walk: Walk, random: Random) -> None:
    """A new report of a node's zones, or a new quota."""
    if random.random() < 0.3:
        spec = {"min": {"cpu": str(random.randint(0, 40)), "memory": "64Gi"}}
        walk.cluster.put(make("ElasticQuota", name="q", namespace=random.choice(["default", "other"]), spec=spec))
        return
    zones = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [
                {"name": "cpu", "available": f"{random.randint(0, 8000)}m"},
                {"name": "memory", "available": f"{random.randint(0, 8)}Gi"},
            ],
        }
        for number in range(random.randint(1, 3))
    ]
    policy = random.choice(["single-numa-node", "single-numa-node", "none"])
    attributes = [
        {"name": "topologyManagerPolicy", "value": policy},
        {"name": "topologyManagerScope", "value": random.choice(["pod", "container"])},
    ]
    walk.cluster.put(make("NodeResourceTopology", name=random.choice(NAMES), zones=zones, attributes=attributes))


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, len(NODES) - 1), min_size=1, max_size=len(NAMES)),
    st.lists(steps, min_size=1, max_size=30),
    st.lists(pod_shapes, min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(WALKED), min_size=1, max_size=4, unique=True),
    st.randoms(use_true_random=False),
)
def test_walks(
    load_file: Path, nodes: list[int], walked: list[Step], asked: list[int], plugins: list[str], random: Random
) -> None:
    if {"CapacityScheduling", "PreemptionToleration"} <= set(plugins):
        plugins.remove("PreemptionToleration")
    walk = Walk(nodes, plugins=factories(plugins, load_file))
    pods = walk.wait(asked)
    for pod in (*pods, *pods):
        check(walk, pod)
    for step in walked:
        walk.take(step)
        report(walk, random)
        check(walk, random.choice(pods))
    profile = walk.world.profile
    check_filters(profile, pods, random)
    check_scores(profile, pods, random)
