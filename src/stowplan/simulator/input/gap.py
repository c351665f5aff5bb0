"""What an input lacks, as data: gaps, and the assumptions made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stowplan import api
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.ownership import Objects
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.workloads import find_template, pod_spec_of


class Assumption(NamedTuple):
    """What is assumed about objects that the input lacks."""

    kind: str
    objects: tuple[str, ...]
    """Namespaces and names; empty if they are unknown."""
    assumption: str


class Gap(NamedTuple):
    """One object that the input lacks."""

    kind: str
    name: str
    assumption: str
    problem: str
    """The line that strict mode reports; empty if it reports none."""
    owner_uid: str = ""
    """The uid of a controller that is assumed to recreate its pods."""
    assumed: tuple[Any, ...] = ()
    """Objects that take its place."""


def assumptions_of(gaps: Iterable[Gap]) -> tuple[Assumption, ...]:
    """The assumptions, with the objects of each."""
    names: dict[tuple[str, str], list[str]] = {}
    for gap in gaps:
        names.setdefault((gap.kind, gap.assumption), []).extend([gap.name] if gap.name else [])
    return tuple(Assumption(kind, tuple(dict.fromkeys(found)), text) for (kind, text), found in names.items())


def specs_to_place(objects: Objects, *, running: bool = False) -> Iterator[tuple[Any, Origin, api.PodSpec, str]]:
    """Pods and workloads with the spec of their pods and its path; without finished and, by default, running pods."""
    for item, origin in objects:
        spec = pod_spec_of(item)
        if spec is None or (isinstance(item, api.Pod) and (is_finished(item) or (spec.node_name and not running))):
            continue
        found = find_template(item)
        yield item, origin, spec, "$.spec" if found is None else f"${found.path}.spec"


def missing(origin: Origin, problem: str) -> str:
    """The line of a reference to an object that the input lacks."""
    return origin.locate(f"{problem}, which is not in the input: add it")
