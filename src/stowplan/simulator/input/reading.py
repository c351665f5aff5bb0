"""Reads an input: the objects of files, with or without those of a cluster, and the assumptions about missing ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from stowplan.cache.stores import key_of
from stowplan.errors import InputError
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.identity import make_uid
from stowplan.simulator.input import input_checks
from stowplan.simulator.input.apply import LiveObjects, apply, roll_out
from stowplan.simulator.input.autoscaling import CURRENT, scale
from stowplan.simulator.input.documents import Origin, Read, find_files
from stowplan.simulator.input.gang_jobs import with_gangs
from stowplan.simulator.input.gap import Assumption, Gap, assumptions_of
from stowplan.simulator.input.gaps import find_gaps, limit_gaps
from stowplan.simulator.input.manifests import ManifestReader
from stowplan.simulator.input.overlay import Json
from stowplan.simulator.input.owner_gaps import owner_gaps
from stowplan.simulator.input.ownership import Objects, Ownership

_MAX_REPORTED_PROBLEMS = 20
_ASSUMED = Origin("assumed")


class InputOptions(NamedTuple):
    """How an input is read."""

    namespace: str = ""
    """Namespace of objects without one; by default that of the cluster."""
    strict: bool = False
    """Missing objects are errors."""
    hpa: str = CURRENT
    """Replicas of autoscaled workloads, one of HPA_MODES."""
    keep_documents: bool = False
    """Keep raw objects, for plugins that read all fields."""
    fragment: bool = False
    """The objects are a part of a cluster: missing ones are not looked for."""
    gang_jobs: bool = False
    """Jobs whose pods run at the same time are gangs, as with the feature gate WorkloadWithJob."""


class Input(NamedTuple):
    """The objects of an input."""

    objects: Objects
    """Objects of known kinds with their origins, in the order of the input, each in its namespace, with name and uid.
    Assumed objects come last."""
    unknown: Counter[str]
    """Number of objects of each kind that is not simulated."""
    notes: list[str]
    """Notes for the user, one line each."""
    preexisting: frozenset[str] = frozenset()
    """The uids of objects that are stored as they are: those of a cluster that no manifest changes, assumed ones."""
    assumptions: tuple[Assumption, ...] = ()
    """What is assumed about objects that the input lacks."""
    assumed_owners: frozenset[str] = frozenset()
    """The uids of controllers that are assumed to recreate their pods."""
    documents: dict[tuple[type, str], Json] = {}  # noqa: RUF012
    """Raw objects of files by struct and key, if they are kept."""


def read_input(
    names: Iterable[str], read: Read, live: LiveObjects | None = None, options: InputOptions | None = None
) -> Input:
    """All objects of files, folders and (`-`) standard input; with `live`, applied to the objects of a cluster.

    An object of a later name is merged into the object of the same kind and name of an earlier one (`overlay`).
    Raises InputError, one problem a line.
    """
    options = options or InputOptions()
    names = list(names)
    namespace = options.namespace or (DEFAULT_NAMESPACE if live is None else live.namespace)
    reader = ManifestReader(namespace, keep_documents=options.keep_documents or len(names) > 1)
    for name in names:
        try:
            for file in find_files(name):
                reader.read(file, read)
        except InputError as problem:
            reader.problems.append(str(problem))
        reader.next_layer()
    refuse(reader.problems)
    applied = roll_out(reader.objects, reader.overlaid) if live is None else apply(live, reader.objects)
    scaled = scale(applied.objects, options.hpa)
    objects = with_gangs(scaled.objects, applied.preexisting) if options.gang_jobs else scaled.objects
    ownership = Ownership(objects)
    problems = [*ownership.problems(), *input_checks.too_many_pods(ownership)]
    is_whole = live is None and not options.fragment
    refuse([*problems, *(input_checks.daemons_without_nodes(ownership.objects) if is_whole else ())])
    gaps = [*reader.gaps, *(find_gaps(ownership) if is_whole else owner_gaps(ownership))]
    gaps += limit_gaps(ownership.objects)
    if options.strict:
        refuse([gap.problem for gap in gaps if gap.problem])
    assumed = _assumed(gaps)
    notes = [*applied.notes, *scaled.notes, *input_checks.notes(ownership.objects, from_cluster=live is not None)]
    return Input(
        [*ownership.objects, *assumed],
        reader.unknown,
        notes,
        (applied.preexisting - scaled.changed) | {item.metadata.uid for item, _ in assumed},
        assumptions_of(gaps),
        frozenset(gap.owner_uid for gap in gaps if gap.owner_uid),
        reader.documents if options.keep_documents else {},
    )


def refuse(problems: list[str]) -> None:
    """Raise an InputError if there are problems."""
    if problems:
        more = len(problems) - _MAX_REPORTED_PROBLEMS
        raise InputError("\n".join([*problems[:_MAX_REPORTED_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]))


def _assumed(gaps: list[Gap]) -> Objects:
    """The assumed objects, with uids."""
    found: Objects = []
    for gap in gaps:
        for item in gap.assumed:
            uid = item.metadata.uid or make_uid(kind_of(item).name, key_of(item.metadata), 0)
            found.append((replace(item, metadata=replace(item.metadata, uid=uid)), _ASSUMED))
    return found
