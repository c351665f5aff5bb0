"""Reads the objects of a cluster value: files, Python objects, a snapshot, a live cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.config.releases import LATEST, Release
from stowplan.errors import InputError
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.input import SIMULATED, Input, InputOptions, Read, read_input
from stowplan.simulator.input.apply import LiveObjects
from stowplan.simulator.input.snapshot_file import SnapshotHeader, decode_snapshot

Manifests = str | bytes | os.PathLike[str] | Mapping[str, Any] | msgspec.Struct
"""A dict or struct of an object, YAML or JSON text, or the path of a file or folder."""

_MAX_INPUT_BYTES = 2**30


class Layer(NamedTuple):
    """One source of manifests: a file or folder, or text."""

    name: str
    content: bytes | None = None
    """None: the name is a path."""


def layer_of(manifests: Iterable[Manifests], name: str) -> list[Layer]:
    """The layers of manifests in any form. Objects and texts become one layer; each path is a layer of its own."""
    texts: list[bytes] = []
    layers: list[Layer] = []
    for each in manifests:
        if isinstance(each, os.PathLike):
            layers.append(Layer(os.fspath(each)))
        elif isinstance(each, str | bytes):
            texts.append(each.encode() if isinstance(each, str) else each)
        else:
            texts.append(msgspec.json.encode(_document(each)))
    return [*([Layer(name, b"\n---\n".join(texts) + b"\n")] if texts else []), *layers]


def _document(item: Mapping[str, Any] | msgspec.Struct) -> Any:
    if not isinstance(item, msgspec.Struct):
        return dict(item)
    kind = api.KINDS.get(type(item).__name__)
    if kind is None:
        raise InputError(f"{type(item).__name__}: not a Kubernetes object")
    return {"apiVersion": kind.api_version, "kind": kind.name, **codec.whole(msgspec.json.encode(item))}


def read_layers(layers: list[Layer], options: InputOptions, live: LiveObjects | None = None) -> Input:
    """The objects of all layers; those of a later layer are overlays of those with the same name of an earlier one."""
    names = [layer.name for layer in layers]
    return read_input(names, layer_reader(layers), live, options._replace(keep_documents=True))


def layer_reader(layers: list[Layer]) -> Read:
    """Returns the content of layers and files."""
    contents = {layer.name: layer.content for layer in layers}

    def read(name: str) -> bytes:
        content = contents.get(name)
        return _read_file(name) if content is None else content

    return read


def _read_file(name: str) -> bytes:
    try:
        with open(name, "rb") as stream:
            content = stream.read(_MAX_INPUT_BYTES + 1)
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror or problem}") from problem
    if len(content) > _MAX_INPUT_BYTES:
        raise InputError(f"{name}: larger than the allowed {_MAX_INPUT_BYTES:,} bytes")
    return content


def read_live(kubeconfig: str, context: str) -> tuple[Input, str, Release]:
    """The objects of a cluster, read with GET requests only, the context's namespace, and the cluster's release."""
    from stowplan.cluster.discovery import server_release
    from stowplan.cluster.kubeconfig import load_connection
    from stowplan.cluster.reflector import REQUIRED_KINDS
    from stowplan.cluster.snapshot import take_snapshot

    connection = load_connection(kubeconfig, context=context)
    kinds = sorted(SIMULATED.values(), key=lambda kind: kind.name not in REQUIRED_KINDS)
    items = [item for item, _ in take_snapshot(connection, kinds, required=REQUIRED_KINDS).items]
    namespace = connection.namespace or DEFAULT_NAMESPACE
    release = server_release(connection) or LATEST
    return read_input([], _read_file, live_objects(items, namespace)), namespace, release


def read_snapshot(name: str) -> tuple[Input, str, SnapshotHeader]:
    """The objects of a snapshot file, the namespace of its context, and the header."""
    content = _read_file(name)
    try:
        header, items = decode_snapshot(content, _MAX_INPUT_BYTES)
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from problem
    namespace = header.namespace or DEFAULT_NAMESPACE
    return read_input([], _read_file, live_objects(items, namespace)), namespace, header


def live_objects(items: list[Any], namespace: str) -> LiveObjects:
    """The objects as those of a cluster, with the pending pods of all schedulers."""
    schedulers = {item.spec.scheduler_name for item in items if isinstance(item, api.Pod)}
    return LiveObjects(items, schedulers, namespace)
