"""The JSON Schema of scenarios accepts what the loader accepts, and refuses faults of form that the loader refuses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.simulator.scenario.scenarios import document, pod, pool, workload

from stowplan.config.text import parse
from stowplan.errors import ConfigError
from stowplan.simulator.autoscaler import CONSOLIDATION_POLICIES, EXPANDERS
from stowplan.simulator.scenario import compile_scenario, load_scenario
from stowplan.simulator.scenario.failures import NODE_KINDS
from stowplan.simulator.scenario.json_schema import field_meanings, schema_text

if "CI" not in os.environ:
    pytest.importorskip("jsonschema", reason="the package jsonschema is not installed: make setup")
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[4]
BATCH: dict[str, Any] = {"name": "b", "template": pod(), "arrivals": {"every": "1m"}, "duration": "1m"}
WEB: dict[str, Any] = {"name": "web", "template": workload("Deployment", "web")}
IN_TEXT = re.compile(
    r"^apiVersion: simulation\.stowplan/v1alpha1\nkind: Scenario\n.*?(?=^(?:END|```|---)$|\Z)", re.M | re.S
)
SCHEMA: dict[str, Any] = json.loads(schema_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def faults(value: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(value)]


def loads(value: object) -> bool:
    try:
        compile_scenario(value, "s.yaml", Path())
    except ConfigError:
        return False
    return True


def batch(**changes: Any) -> dict[str, Any]:
    return document({**BATCH, **changes})


def with_pool(**changes: Any) -> dict[str, Any]:
    return document(BATCH, nodes={"pools": [{**pool(), **changes}]})


def scaled(**changes: Any) -> dict[str, Any]:
    return document(BATCH, autoscaler={"groups": [{"pool": "general"}], **changes})


def failing(**changes: Any) -> dict[str, Any]:
    return document(BATCH, failures=[{"nodes": {}, "at": "1m", **changes}])


def rolling(**changes: Any) -> dict[str, Any]:
    return document(WEB, churn=[{"at": "1m", "roll": {"name": "web", **changes}}])


def deleting(**changes: Any) -> dict[str, Any]:
    return document(BATCH, churn=[{"every": "5m", "delete": {"workload": "b", **changes}}])


def lifetime(**changes: Any) -> dict[str, Any]:
    return document(BATCH, descheduler={"PodLifeTime": {"maxPodLifeTimeSeconds": 60}, **changes})


def documents() -> Iterator[Any]:
    """Every scenario of the repository."""
    for file in sorted((ROOT / "examples").rglob("*.yaml")):
        if IN_TEXT.search(text := file.read_text()):
            yield pytest.param(text, id=str(file.relative_to(ROOT)))
    for file in sorted((ROOT / "docs").rglob("*.md")):
        for number, text in enumerate(IN_TEXT.findall(file.read_text()), start=1):
            yield pytest.param(text, id=f"{file.relative_to(ROOT)}-{number}")


def test_the_schema_is_sound() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_field_has_a_meaning() -> None:
    for struct, meanings in field_meanings().items():
        fields = {field.name for field in msgspec.structs.fields(struct)}
        assert meanings.keys() == fields, struct.__name__
        part = SCHEMA["$defs"][struct.__name__]
        assert all(each["description"] for each in part["properties"].values())
        assert set(part["required"]) <= part["properties"].keys()


@pytest.mark.parametrize("text", [*documents()])
def test_scenarios_of_the_repository_match_the_schema(text: str) -> None:
    value, _ = parse(text.encode(), "scenario.yaml", "scenario")
    assert faults(value) == []


def test_scenarios_of_the_examples_load() -> None:
    files = [file for file in (ROOT / "examples").rglob("*.yaml") if IN_TEXT.search(file.read_text())]
    assert [load_scenario(str(file)).name for file in files] != []


@pytest.mark.parametrize(
    "value",
    [
        batch(),
        batch(arrivals={"at": [0, "1h", 7.5]}),
        batch(arrivals={"poisson": {"rate": "40/h"}, "from": "1m", "to": "2h", "limit": 9}),
        batch(arrivals={"every": "1m", "batch": {"uniform": [1, 8]}}),
        batch(arrivals={"poisson": {"rate": "1e-2/ms"}}),
        batch(arrivals={"bursts": {"every": "1h", "size": 5, "spread": "1m"}}),
        batch(arrivals={"closed": {"users": 2, "think": {"exponential": {"mean": "5m"}}}}),
        batch(duration={"lognormal": {"median": "20m", "sigma": 0.8}, "max": "6h"}),
        batch(duration={"choice": {"1m": 1, "1h": 0.5}}, startup={"uniform": ["1s", "9s"]}),
        batch(restart={"checkpoint": "10m"}, resubmit=True, tenant={"zipf": {"names": ["a", "b"], "s": 1.1}}),
        document({**WEB, "replicas": {"at": {"0h": 2, "8h": 5}, "ramp": "10m"}}),
        with_pool(count=3, zones={"a": 1, "b": 0.5}, price=1.5, startup={"normal": {"mean": 60, "sd": 5}}),
        document(BATCH, until={"drained": True, "time": "2d"}, seed=-3, grace="30s", ttl=5, cycle="2ms", ties="name"),
        failing(kind="degrade", share=0.25, **{"for": "5m"}),
        document(BATCH, failures=[{"nodes": {"pool": "general"}, "hazard": "0.05/h", "kind": "spot", "notice": "2m"}]),
        document(BATCH, failures=[{"pods": {"workload": "b"}, "fail": 0.02}, {"requests": "bind", "conflict": 0.1}]),
        *(failing(kind=kind) for kind in NODE_KINDS),
        *(scaled(expander=name) for name in EXPANDERS),
        *(scaled(kind="karpenter", consolidationPolicy=name, expireAfter="3d") for name in CONSOLIDATION_POLICIES),
        scaled(**{"scan-interval": 5, "scale-down-enabled": False, "max-node-provision-time": "20m"}),
        rolling(maxSurge=2, maxUnavailable="0%"),
        deleting(share=0.1, selector={"app": "b"}),
        lifetime(to="2h", maxNoOfPodsToEvictTotal=5),
        document(BATCH, record={"every": "10s", "from": "5m", "events": False, "slo": {"wait": "5m"}}),
        document(BATCH, expect=[{"metric": "pending", "below": 1, "at": "end"}]),
        document(BATCH, expect=[{"pods": {"workload": "b"}, "all": "running", "at": "8h30m"}]),
    ],
)  # fmt: skip
def test_the_schema_accepts_what_the_loader_accepts(value: object) -> None:
    assert loads(value)
    assert faults(value) == []


@pytest.mark.parametrize(
    "value",
    [
        "text",
        [],
        {},
        # Unknown fields
        document(BATCH, sede=1),
        batch(durations="1m"),
        batch(arrivals={"each": "1m"}),
        batch(duration={"gamma": {"mean": "1m"}}),
        with_pool(counts=3),
        failing(hazzard="1/h"),
        scaled(scanInterval="10s"),
        lifetime(PodLifetime={}),
        rolling(surge=1),
        document(BATCH, record={"each": "1m"}),
        document(BATCH, expect=[{"metrics": "wait.p95", "below": 5}]),
        # Wrong types
        document(BATCH, kind="Job"),
        document(BATCH, apiVersion="v1"),
        document(BATCH, seed="1"),
        document(BATCH, seed=1.5),
        document(BATCH, until={"drained": "yes"}),
        document(BATCH, until={"time": "1 day"}),
        document(BATCH, until={"time": True}),
        document(BATCH, until=["1h"]),
        document(BATCH, nodes=[pool()]),
        document(BATCH, plugins="rack_care.py:RackCare"),
        {**document(), "workloads": {"b": BATCH}},
        batch(name=3),
        batch(duration=[1]),
        batch(duration=True),
        batch(duration={"min": 3}),
        batch(duration={"uniform": [1, 2], "exponential": {"mean": 1}}),
        batch(arrivals={"poisson": {"rate": 40}}),
        batch(arrivals={"poisson": {"rate": "40"}}),
        batch(arrivals={"every": "1m", "batch": "two"}),
        batch(resubmit=1),
        batch(tenant={"choice": {"a": "much"}}),
        with_pool(price="1 EUR"),
        with_pool(zones=["a", "b"]),
        scaled(groups={"pool": "general"}),
        scaled(**{"scale-down-enabled": "no"}),
        rolling(maxSurge="2"),
        # Unknown names
        document(BATCH, ties="random"),
        failing(kind="explode"),
        document(BATCH, failures=[{"requests": "unbind", "lose": 0.1}]),
        scaled(kind="autoscaler"),
        scaled(expander="best"),
        scaled(kind="karpenter", consolidationPolicy="Never"),
        rolling(kind="StatefulSet"),
        document(BATCH, record={"slo": {"waiting": "5m"}}),
        # Negative numbers, and numbers out of bounds
        document(BATCH, until={"time": -1}),
        document(BATCH, until={"time": "-1h"}),
        document(BATCH, until={"time": 0}),
        document(BATCH, grace=-1),
        document(BATCH, cycle="-2ms"),
        batch(duration=-5),
        batch(startup=-5),
        batch(arrivals={"every": -60}),
        batch(arrivals={"every": 0}),
        batch(arrivals={"at": [-1]}),
        batch(arrivals={"at": [None]}),
        batch(arrivals={"poisson": {"rate": "-4/h"}}),
        batch(arrivals={"every": "1m", "limit": -1}),
        batch(arrivals={"every": "1m", "batch": -1}),
        batch(arrivals={"closed": {"users": 0}}),
        document({**WEB, "replicas": {"at": {"0h": -2}}}),
        document({**WEB, "load": {"file": "load.csv", "target": -1}}),
        batch(tenant={"choice": {"a": -1}}),
        with_pool(count=-1),
        with_pool(price=-1.5),
        with_pool(zones={"a": -1}),
        with_pool(startup=-90),
        failing(share=-0.5),
        failing(share=1.5),
        failing(notice=-1),
        document(BATCH, failures=[{"pods": {}, "fail": 2}]),
        document(BATCH, failures=[{"requests": "all", "loseAnswer": -0.1}]),
        scaled(budget=-0.1, kind="karpenter"),
        scaled(groups=[{"pool": "general", "min": -1}]),
        scaled(groups=[]),
        scaled(**{"scan-interval": 0}),
        scaled(**{"scan-interval": None}),
        scaled(**{"scale-down-unneeded-time": "-10m"}),
        deleting(share=-0.1),
        rolling(maxSurge=-1),
        lifetime(maxNoOfPodsToEvictTotal=-1),
        document(BATCH, descheduler={"HighNodeUtilization": {"thresholds": {"cpu": -1}}}),
        document(BATCH, descheduler={"HighNodeUtilization": {"thresholds": {"cpu": 20}, "numberOfNodes": -1}}),
        document(BATCH, record={"every": 0}),
        document(BATCH, record={"slo": {"wait": -1}}),
        # Missing fields
        document(BATCH, until={}),
        batch(name=""),
        batch(arrivals={"poisson": {}}),
        batch(arrivals={"bursts": {"every": "1h"}}),
        with_pool(name=""),
        document(BATCH, nodes={"pools": [{"name": "a"}]}),
        document(BATCH, descheduler={"PodLifeTime": {}}),
        document(BATCH, failures=[{"nodes": {}}]),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_loader_refuses(value: object) -> None:
    assert not loads(value)
    assert faults(value) != []
