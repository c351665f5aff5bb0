"""The objects of a cluster for a simulation, from its API server or from a snapshot file."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, NamedTuple

from stowplan.api.kinds import Kind
from stowplan.cache.stores import key_of
from stowplan.cli.progress import Progress
from stowplan.cli.streams import read, shown
from stowplan.cluster.discovery import server_release
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.reflector import REQUIRED_KINDS
from stowplan.cluster.snapshot import Snapshot, take_snapshot
from stowplan.config.releases import LATEST, Release
from stowplan.errors import InputError
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.input import SIMULATED
from stowplan.simulator.input.anonymization import anonymized
from stowplan.simulator.input.apply import LiveObjects
from stowplan.simulator.input.snapshot_file import decode_snapshot, encode_snapshot, make_header, sanitized


class LiveCluster(NamedTuple):
    """Objects of a cluster, with messages for the user."""

    live: LiveObjects
    documents: dict[tuple[type, str], dict[str, Any]]
    """The complete objects, if `keep_objects` was set."""
    notes: list[str]
    taken_at: float
    """When it was read, in seconds since 1970."""
    name: str
    """Of the cluster, for people."""


def cluster_release(kubeconfig: str, context: str) -> Release:
    """The release of a cluster; the latest one if the server does not report it."""
    return server_release(load_connection(kubeconfig, context=context)) or LATEST


_ALPHA = "alpha"
"""Part of API versions that most servers do not serve."""


def read_cluster(
    kubeconfig: str, context: str, *, schedulers: Collection[str], keep_objects: bool, progress: Progress
) -> LiveCluster:
    """Reads all kinds that a simulation uses, with GET requests only. Raises StowplanError if that fails."""
    progress.start("reading the cluster")
    connection = load_connection(kubeconfig, context=context)
    snapshot = take_snapshot(
        connection,
        sorted(SIMULATED.values(), key=lambda kind: kind.name not in REQUIRED_KINDS),
        required=REQUIRED_KINDS,
        keep_objects=keep_objects,
        on_progress=lambda count: progress.start(f"reading the cluster: {count:,} objects"),
    )
    live = LiveObjects([item for item, _ in snapshot.items], schedulers, connection.namespace or DEFAULT_NAMESPACE)
    documents = {
        (type(item), key_of(item.metadata)): document for item, document in snapshot.items if document is not None
    }
    return LiveCluster(live, documents, _notes(snapshot), time.time(), f"cluster {connection.url}")


def read_snapshot(file: str, *, schedulers: Collection[str], max_bytes: int, progress: Progress) -> LiveCluster:
    """Reads the objects of a snapshot file. Raises InputError of one line."""
    progress.start("reading the snapshot")
    try:
        header, items = decode_snapshot(read(file, max_bytes), max_bytes)
    except InputError as problem:
        name = shown(file)
        raise problem if str(problem).startswith(f"{name}:") else InputError(f"{name}: {problem}") from problem
    live = LiveObjects(items, schedulers, header.namespace or DEFAULT_NAMESPACE)
    return LiveCluster(live, {}, [], header.taken_at_seconds, f"snapshot {shown(file)}")


def anonymized_cluster(cluster: LiveCluster, schedulers: Collection[str]) -> LiveCluster:
    """The same objects with other names, as `stowplan snapshot --anonymize` writes them."""
    header = make_header(cluster.taken_at, "", "")
    content = encode_snapshot(header, anonymized(sanitized(cluster.live.items)), compress=False)
    items = decode_snapshot(content, len(content)).items
    live = LiveObjects(items, schedulers, DEFAULT_NAMESPACE)
    return LiveCluster(live, {}, cluster.notes, cluster.taken_at, "anonymized snapshot")


def _notes(snapshot: Snapshot) -> list[str]:
    skipped = {
        "ignored, since the server does not have these kinds": [
            kind for kind in snapshot.missing if not kind.custom and _ALPHA not in kind.api_version
        ],
        "ignored, since they may not be read": snapshot.forbidden,
    }
    return [f"{why}: {', '.join(map(_name, kinds))}" for why, kinds in skipped.items() if kinds]


def _name(kind: Kind) -> str:
    """A resource as RBAC rules and `kubectl` name it."""
    group, slash, _ = kind.api_version.partition("/")
    return f"{kind.resource}.{group}" if slash else kind.resource
