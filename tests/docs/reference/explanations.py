"""The records of answers: fields, reason ids, and the JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from tests.docs.reference.docstrings import members, text_of
from tests.docs.reference.tables import code, table

from stowplan.framework import decision_record, explanation
from stowplan.framework.reason_ids import REASON_IDS
from stowplan.simulator.report import use
from stowplan.simulator.what_if import records as what_if

ANSWERS: tuple[type[Any], ...] = (
    explanation.Explanation,
    explanation.PlacedExplanation,
    explanation.WhyNot,
    explanation.PendingPods,
    what_if.WhatIfAnswer,
    what_if.DiffAnswer,
)
"""The records that commands, endpoints and the library return."""


def reason_ids() -> str:
    """A table of all reason ids."""
    rows = [(code(name), each.plugin, each.text) for name, each in sorted(REASON_IDS.items())]
    return table(("id", "plugin", "meaning"), rows)


def records() -> str:
    """Each answer with its fields, and the records that they consist of."""
    answers = [kind.__name__ for kind in ANSWERS]
    parts = sorted(set(_definitions()) - set(answers))
    return "\n\n".join(_record(name) for name in (*answers, *parts))


def _record(name: str) -> str:
    kind = _struct(name)
    properties, texts = _definitions()[name]["properties"], members(kind)
    rows = [
        (code(field.encode_name), _type(properties[field.encode_name]), texts.get(field.name, ""))
        for field in msgspec.structs.fields(kind)
    ]
    return f"### {name}\n\n{text_of(kind.__doc__)}\n\n{table(('field', 'type', 'meaning'), rows)}"


def _struct(name: str) -> type[msgspec.Struct]:
    for module in (explanation, decision_record, what_if, use):
        if hasattr(module, name):
            found: type[msgspec.Struct] = getattr(module, name)
            return found
    raise LookupError(name)


def _type(schema: dict[str, Any]) -> str:
    """A type of the schema in short."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    if schema.get("type") == "object":
        return f"map to {_type(schema['additionalProperties'])}" if schema.get("additionalProperties") else "map"
    return str(schema.get("type", "any"))


def _definitions() -> dict[str, Any]:
    return msgspec.json.schema_components(ANSWERS, ref_template="#/$defs/{name}")[1]


def schema() -> str:
    """The JSON Schema of all answers, as a file."""
    roots, definitions = msgspec.json.schema_components(ANSWERS, ref_template="#/$defs/{name}")
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answers of Stowplan",
        "description": "Records of explain, why-not, what-if and diff; fields with their default value are left out.",
        "version": explanation.EXPLANATION_VERSION,
        "anyOf": list(roots),
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
