"""The Kubernetes schema of pods, and pods with a text in every field of it.

`pod_schema.json` is the OpenAPI document of the API server without descriptions: definitions with the types of their
fields. A list has the type of its items, a map the type of its values under "*".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Type = str | list[Any] | dict[str, Any]

FILE = Path(__file__).with_name("pod_schema.json")
DEFINITIONS: dict[str, dict[str, Type]] = json.loads(FILE.read_text())
NUMBERS = ("integer", "boolean", "number")


def from_openapi(schemas: Mapping[str, Any]) -> dict[str, dict[str, Type]]:
    """The definitions that pods consist of, from the schemas of an OpenAPI v3 document."""
    found: dict[str, dict[str, Type]] = {}

    def visit(name: str) -> str:
        short = name.rsplit(".", 1)[-1]
        if short not in found:
            found[short] = {}
            found[short].update({key: of(each) for key, each in sorted(schemas[name]["properties"].items())})
        return short

    def of(given: Any) -> Type:
        while "allOf" in given:
            given = given["allOf"][0]
        name = given.get("$ref", "").rsplit("/", 1)[-1]
        if name and "properties" in schemas[name]:
            return visit(name)
        if name:
            return str(schemas[name].get("type", "quantity"))
        if given["type"] == "array":
            return [of(given["items"])]
        return {"*": of(given["additionalProperties"])} if given["type"] == "object" else str(given["type"])

    visit("io.k8s.api.core.v1.Pod")
    return found


def written(definitions: Mapping[str, Any]) -> str:
    """The content of the file: a line for each definition."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(definitions[name])}" for name in sorted(definitions))
    return f"{{\n{lines}\n}}\n"


def text_paths(kind: Type = "Pod", path: str = "") -> Iterator[str]:
    """The paths of all texts in a pod, such as `spec.containers[].image`; keys of maps are `labels.{}`."""
    if isinstance(kind, list):
        yield from text_paths(kind[0], f"{path}[]")
    elif isinstance(kind, dict):
        yield f"{path}.{{}}"
        yield from text_paths(kind["*"], f"{path}.*")
    elif kind in DEFINITIONS:
        for name, each in DEFINITIONS[kind].items():
            yield from text_paths(each, f"{path}.{name}".lstrip("."))
    elif kind not in NUMBERS:
        yield path


def fill(text: Callable[[str], str | None], kind: Type = "Pod", path: str = "") -> Any:
    """An object with `text(path)` at every path; where that is None, the field is left out. None without any."""
    if isinstance(kind, list):
        item = fill(text, kind[0], f"{path}[]")
        return None if item is None else [item]
    if isinstance(kind, dict):
        key, value = text(f"{path}.{{}}"), fill(text, kind["*"], f"{path}.*")
        return None if key is None or value is None else {key: value}
    if kind in DEFINITIONS:
        names = DEFINITIONS[kind].items()
        made = {name: fill(text, each, f"{path}.{name}".lstrip(".")) for name, each in names}
        return {name: each for name, each in made.items() if each is not None} or None
    found = None if kind in NUMBERS else text(path)
    return {found: {}} if kind == "object" and found is not None else found
