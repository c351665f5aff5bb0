"""Names of the objects that workloads create. Two objects of a kind with one name would replace each other."""

from __future__ import annotations

from collections.abc import Iterable
from string import Template
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from stowplan.config.errors import Problems
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.scenario.schema import ScenarioWorkloadSpec

if TYPE_CHECKING:
    from stowplan.simulator.scenario.workloads import CompiledWorkload

_DEFAULT_NAMESPACE = "default"


class FreeNames:
    """Names that no present object has. Nothing is kept for objects that are gone."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._number = 1
        """The number of the latest name that was taken. It grows, so that a search does not begin at 1 each time."""

    def named(self, item: Any, *kinds: type[Any]) -> Any:
        """The object; if one of its kind, or of further kinds, has its name, with a number after the name."""
        metadata = item.metadata
        name = given = metadata.name
        while self._is_taken(name, metadata.namespace, type(item), *kinds):
            self._number += 1
            name = f"{given}-{self._number}"
        return item if name == given else replace(item, metadata=replace(metadata, name=name))

    def _is_taken(self, name: str, namespace: str, *kinds: type[Any]) -> bool:
        return any(self._api_server.get(kind, name, namespace) is not None for kind in kinds)


def arriving_name(given: str, workload: str, number: int, at: float) -> str:
    """The name of the n-th arrival; a template without the number or the time in its name gets the number."""
    name = with_marks(given, number, at)
    return f"{name or workload}-{number}" if name == given else name


def with_marks(text: str, number: int, at: float) -> str:
    """The text with the number of the arrival for `$n`, and its time for `$at`."""
    return Template(text).safe_substitute(n=number, at=f"{at:g}")


def check_names(
    specs: Iterable[ScenarioWorkloadSpec], workloads: Iterable[CompiledWorkload], problems: Problems
) -> None:
    """Add names that are given twice: in one manifest, or by two workloads whose objects are created once."""
    fixed: set[tuple[str, str, str]] = set()
    for index, (spec, workload) in enumerate(zip(specs, workloads, strict=True)):
        taken = set() if workload.arrivals is not None else fixed
        for document in workload.documents:
            metadata = document["metadata"]
            key = document["kind"], metadata.get("namespace") or _DEFAULT_NAMESPACE, metadata.get("name", "")
            if key[2] and key in taken:
                field = f"manifest: {spec.manifest}: $" if spec.manifest else "template"
                subject = f"{key[0]} {key[1]}/{key[2]}"
                problems.add(f"$.workloads[{index}].{field}.metadata.name", f"another object is {subject}")
            taken.add(key)
