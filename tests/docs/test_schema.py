"""Answers match the JSON Schema that the documentation publishes."""

from __future__ import annotations

import json
import os
from typing import Any

import msgspec
import pytest
from tests.builders.manifests import WEB
from tests.docs.page import ROOT

from stowplan import Cluster

NODES = """
{kind: Node, metadata: {name: ant}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}
---
{kind: Node, metadata: {name: bee}, spec: {unschedulable: true}, status: {allocatable: {cpu: "2", pods: "10"}}}
---
"""
GATED = """
kind: Pod
metadata: {name: gated}
spec: {schedulingGates: [{name: example.com/gate}], containers: [{name: main, image: main}]}
"""
OBJECTS = f"{NODES}{WEB}---{GATED}"


def test_answers_match_the_schema() -> None:
    if "CI" not in os.environ:
        pytest.importorskip("jsonschema", reason="the package jsonschema is not installed: make setup")
    from jsonschema import Draft202012Validator

    schema: dict[str, Any] = json.loads((ROOT / "docs" / "reference" / "explanation.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    run = Cluster.from_objects(OBJECTS).simulate()
    waiting = next(group.pods[0] for group in run.pending if group.workload)
    placed = next(pod.pod for pod in run.pods if pod.node)
    answers = {
        "Explanation": [run.explain(waiting), run.explain("gated")],
        "PlacedExplanation": [run.explain(placed)],
        "WhyNot": [run.why_not(waiting, "bee"), run.why_not(placed, "ant")],
        "PendingPods": [run.explain_pending()],
        "DiffAnswer": [run.diff(run.cluster.without("bee").simulate()).answer],
        "WhatIfAnswer": [Cluster.from_objects(OBJECTS).what_if(drain="ant", fit="Deployment/web", removable=True)],
    }
    for name, found in answers.items():
        validator = Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})
        for answer in found:
            validator.validate(msgspec.json.decode(msgspec.json.encode(answer)))
