"""The PriorityClasses that workloads name, which have to be among the manifests."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.api import codec
from stowplan.errors import InputError
from stowplan.simulator.admission import Admission
from stowplan.simulator.input.manifests import SIMULATED
from stowplan.simulator.scenario.reading import LoadedScenario
from stowplan.simulator.workloads.table import pod_spec_of


def check_priority_classes(scenario: LoadedScenario, admission: Admission) -> None:
    """Raises InputError for a name that no PriorityClass has; called when all manifests are applied."""
    for path, name in _named(scenario):
        if not admission.has_priority_class(name):
            raise InputError(f'{scenario.source}: {path}: no PriorityClass is named "{name}": add it to manifests')


def _named(scenario: LoadedScenario) -> Iterator[tuple[str, str]]:
    """(path, name)."""
    for index, (spec, workload) in enumerate(zip(scenario.spec.workloads, scenario.workloads, strict=True)):
        path, given = f"$.workloads[{index}]", spec.priority
        if given is not None:
            for name in given.choice or (given.zipf.names if given.zipf is not None else ()):
                yield f"{path}.priority", name
        for document in workload.documents:
            template = pod_spec_of(codec.convert(SIMULATED[document["kind"]].struct, document))
            if template is not None and template.priority is None and template.priority_class_name:
                yield f"{path}: {document['kind']}: priorityClassName", template.priority_class_name
