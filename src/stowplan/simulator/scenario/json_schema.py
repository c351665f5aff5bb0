"""The JSON Schema of Scenario documents, for editors."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.simulator.scenario.schema import API_VERSION, KIND, ScenarioSpec


def schema_text() -> str:
    """The schema as JSON."""
    (root,), parts = msgspec.json.schema_components([ScenarioSpec], ref_template="#/$defs/{name}")
    described = parts["ScenarioSpec"]
    described["properties"]["apiVersion"] = {"const": API_VERSION}
    described["properties"]["kind"] = {"const": KIND}
    described["required"] = ["apiVersion", "kind"]
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of stowplan simulate",
        **root,
        "$defs": parts,
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
