"""The JSON Schema of Scenario documents, for editors; the meanings of fields are their descriptions."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import msgspec

from stowplan.simulator.scenario import schema as fields_module
from stowplan.simulator.scenario.schema import API_VERSION, KIND, ScenarioPart, ScenarioSpec

_REQUIRED = {
    "ScenarioSpec": ("apiVersion", "kind", "until"),
    "PoolSpec": ("name", "template"),
    "PoissonSpec": ("rate",),
    "BurstsSpec": ("every", "size"),
    "ClosedSpec": ("users",),
    "ReplicasSpec": ("at",),
    "LoadSpec": ("file",),
    "ScenarioWorkloadSpec": ("name",),
    "RollSpec": ("name",),
    "GroupSpec": ("pool",),
    "AutoscalerSpec": ("groups",),
    "LowNodeUtilizationSpec": ("thresholds", "targetThresholds"),
    "HighNodeUtilizationSpec": ("thresholds",),
    "PodLifeTimeSpec": ("maxPodLifeTimeSeconds",),
}
_AT_LEAST_ONE = {
    "UntilSpec": ("time", "drained", "arrivals", "stuck"),
    "ArrivalsSpec": ("at", "every", "poisson", "bursts", "closed", "file"),
    "ScenarioWorkloadSpec": ("manifest", "template", "trace"),
    "ChurnSpec": ("delete", "roll"),
    "FailureSpec": ("nodes", "pods", "requests"),
    "DeschedulerSpec": ("LowNodeUtilization", "HighNodeUtilization", "PodLifeTime"),
    "ExpectSpec": ("metric", "pods"),
}


def schema_text() -> str:
    """The schema as JSON."""
    (root,), parts = msgspec.json.schema_components([ScenarioSpec], ref_template="#/$defs/{name}")
    described = parts["ScenarioSpec"]["properties"]
    described["apiVersion"] = {"const": API_VERSION}
    described["kind"] = {"const": KIND}
    for name, part in parts.items():
        part["required"] = list(_REQUIRED.get(name, ()))
        if name in _AT_LEAST_ONE:
            part["anyOf"] = [{"required": [field]} for field in _AT_LEAST_ONE[name]]
    parts["FailureSpec"]["dependentSchemas"] = {
        "nodes": {"anyOf": [{"required": [field]} for field in ("at", "mtbf", "hazard")]}
    }
    for struct, meanings in field_meanings().items():
        properties = parts[struct.__name__]["properties"]
        for field in msgspec.structs.fields(struct):
            shown = properties[field.encode_name]
            texts = (meanings.get(field.name, ""), shown.get("description", ""))
            shown["description"] = " ".join(filter(None, texts))
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of stowplan simulate",
        **root,
        "$defs": parts,
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def field_meanings() -> dict[type[ScenarioPart], dict[str, str]]:
    """The docstrings of the fields of each part, in the order of the source; the document is the last part."""
    tree = ast.parse(inspect.getsource(fields_module))
    return {
        getattr(fields_module, part.name): _docstrings(part)
        for part in tree.body
        if isinstance(part, ast.ClassDef) and part.name != ScenarioPart.__name__
    }


def _docstrings(part: ast.ClassDef) -> dict[str, str]:
    """The docstrings below the attributes of a class."""
    found = {}
    for before, after in zip(part.body, part.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            text = after.value.value if isinstance(after.value, ast.Constant) else ""
            found[before.target.id] = " ".join(str(text).split())
    return found
