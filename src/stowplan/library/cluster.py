"""A cluster as an immutable value: its objects, changed copies of it, runs and answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

from stowplan import api
from stowplan._version import __version__
from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.flags.checks import parse_emulated_version
from stowplan.config.releases import LATEST, Release
from stowplan.errors import InputError
from stowplan.framework import Explanation, Plugin
from stowplan.framework.explanation import AsOf, PendingPods, PlacedExplanation, WhyNot
from stowplan.library import html
from stowplan.library.changes import find, scaled, with_nodes
from stowplan.library.questions import Changes, changes_of
from stowplan.library.records import Records
from stowplan.library.run import Run, start_run
from stowplan.library.settings import Settings
from stowplan.library.sources import Layer, Manifests, layer_of, live_objects, read_layers, read_live, read_snapshot
from stowplan.runtime import Factory
from stowplan.simulator.clock import EPOCH
from stowplan.simulator.identity import timestamp
from stowplan.simulator.input import Input, InputOptions
from stowplan.simulator.what_if.answer import WhatIfQuestion
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.workloads import pod_spec_of

Config = KubeSchedulerConfiguration | Mapping[str, Any] | str | os.PathLike[str] | None
"""A configuration: a dict, YAML text, or the path of a file; None for the default one."""
Plugins = Iterable[type[Plugin]] | Mapping[str, Factory]
"""Plugin classes, or factories by plugin name."""


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """The objects of a cluster, as a value: every method returns a new cluster or a result, and changes nothing.

    Objects of a reference are named as by `stowplan what-if`: `node-1`, `zone=a` (nodes with the label),
    `Deployment/web`, `shop/Deployment/web`.
    """

    _input: Input
    _namespace: str = "default"
    _deleted: tuple[Any, ...] = ()
    """Objects that are deleted once the others are stored, so that controllers replace the pods that are lost."""
    _start: float = EPOCH
    _source: str = "manifests"
    """The origin of the objects, for `AsOf.source`."""
    _at_rest: bool = False
    """Whether answers are about the pods as they are, without a run."""
    _release: Release = LATEST
    """The release of kube-scheduler whose rules apply."""
    _state: dict[str, Run] = field(default_factory=dict, compare=False)
    """The run that answers are about, once it is needed."""

    @classmethod
    def from_files(
        cls, *paths: str | os.PathLike[str], namespace: str = "default", strict: bool = False, hpa: str = "current"
    ) -> Cluster:
        """The objects of files and folders, as `stowplan simulate` reads them: a later file is an overlay of earlier
        ones. Raises InputError, one problem a line."""
        layers = [Layer(os.fspath(path)) for path in paths]
        return cls(read_layers(layers, InputOptions(namespace, strict, hpa)), namespace)

    @classmethod
    def from_objects(cls, *objects: Manifests, namespace: str = "default", strict: bool = False) -> Cluster:
        """The objects of dicts, structs of `stowplan.api`, YAML texts, and paths."""
        return cls(read_layers(layer_of(objects, "objects"), InputOptions(namespace, strict)), namespace)

    @classmethod
    def from_cluster(cls, *, kubeconfig: str = "", context: str = "", namespace: str = "") -> Cluster:
        """The present objects of a cluster, which is only read, under the rules of the cluster's release. Kubeconfig
        and context are resolved as kubectl does."""
        import time

        given, default, release = read_live(kubeconfig, context)
        namespace = namespace or default
        return cls(given, namespace, _start=time.time(), _source="cluster", _at_rest=True, _release=release)

    @classmethod
    def from_snapshot(cls, path: str | os.PathLike[str], *, namespace: str = "") -> Cluster:
        """The objects of a file that `stowplan snapshot` wrote, under the rules of the release that it records."""
        given, default, header = read_snapshot(os.fspath(path))
        return cls(
            given,
            namespace or default,
            _start=header.taken_at_seconds,
            _source=f"snapshot {os.fspath(path)}",
            _at_rest=True,
            _release=header.kube_release,
        )

    @property
    def objects(self) -> Records[Any]:
        """All objects, as structs of `stowplan.api`."""
        gone = {item.metadata.uid for item in self._deleted}
        lost = {item.metadata.name for item in self._deleted if isinstance(item, api.Node)}
        return Records(
            item
            for item, _ in self._input.objects
            if item.metadata.uid not in gone and not (isinstance(item, api.Pod) and item.spec.node_name in lost)
        )

    @property
    def nodes(self) -> Records[api.Node]:
        return Records(item for item in self.objects if isinstance(item, api.Node))

    @property
    def pods(self) -> Records[api.Pod]:
        """The pods that exist; those of workloads are created by `simulate`."""
        return Records(item for item in self.objects if isinstance(item, api.Pod))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed while the objects were read."""
        return tuple(self._input.notes)

    def with_release(self, version: str) -> Cluster:
        """The cluster under the rules of a release of kube-scheduler: "1.33", "1.34", "1.35" or "1.36". A configuration
        that was read already keeps its own release."""
        return self._changed(_release=parse_emulated_version([version]) or LATEST)

    def without(self, *references: str) -> Cluster:
        """The cluster without these objects. Pods of a node that is gone are lost; controllers replace their pods."""
        present = self.objects
        gone = [item for reference in references for item in find(present, reference, self._namespace)]
        return self._changed(_deleted=(*self._deleted, *gone))

    def add_nodes(self, count: int = 1, *, like: str | Manifests, name: str = "") -> Cluster:
        """The cluster with more nodes: copies of the node with this name, or of a manifest of a node."""
        node = self._node(like)
        prefix = name or f"{node.metadata.name}-new"
        return self._changed(_input=with_nodes(self._input, count, node, prefix))

    def scale(self, workload: str, replicas: int) -> Cluster:
        """The cluster with another number of replicas of a workload, as by `kubectl scale`."""
        (found,) = find(self.objects, workload, self._namespace)
        return self._changed(_input=scaled(self._input, found, replicas))

    def apply(self, *manifests: Manifests) -> Cluster:
        """The cluster with these objects created or updated, as by `kubectl apply`."""
        items = [item for item, _ in self._input.objects]
        old = {item.metadata.uid for item in items}
        options = InputOptions(self._namespace, fragment=True)
        given = read_layers(layer_of(manifests, "applied"), options, live_objects(items, self._namespace))
        preexisting = frozenset(uid for uid in given.preexisting if uid in self._input.preexisting or uid not in old)
        merged = given._replace(
            preexisting=preexisting,
            unknown=self._input.unknown + given.unknown,
            notes=[*self._input.notes, *given.notes],
            assumptions=(*self._input.assumptions, *given.assumptions),
            assumed_owners=self._input.assumed_owners | given.assumed_owners,
            documents={**self._input.documents, **given.documents},
        )
        return self._changed(_input=merged)

    def simulate(self, *, plugins: Plugins = (), config: Config = None, seed: int = 0) -> Run:
        """Schedule the pods in simulated time until nothing changes. The same cluster and seed give the same run."""
        return self._run(Settings.of(config, plugins, seed, self._release), schedule=True)

    def explain(
        self, pod: str, *, plugins: Plugins = (), config: Config = None, top: int = 5
    ) -> Explanation | PlacedExplanation | PendingPods:
        """Why a pod is pending, or why it is on its node; for a workload, its pending pods grouped by sentence.

        Manifests are simulated first. Pods of a live cluster or of a run's result are explained as they are.
        """
        return self._answering(plugins, config).explain(pod, top=top)

    def explain_pending(self, namespace: str = "", *, plugins: Plugins = (), config: Config = None) -> PendingPods:
        """All pending pods, or those of a namespace, grouped by the sentence that explains them."""
        return self._answering(plugins, config).explain_pending(namespace)

    def why_not(self, pod: str, node: str, *, plugins: Plugins = (), config: Config = None) -> WhyNot:
        """Why a pod is not on a node: the rules of all plugins, with their requirements and the state of the node."""
        return self._answering(plugins, config).why_not(pod, node)

    def what_if(
        self,
        *,
        fit: str | Manifests | None = None,
        max_replicas: int = 10_000,
        enough: str | Iterable[str] = (),
        removable: bool = False,
        by: str = "",
        plugins: Plugins = (),
        config: Config = None,
        seed: int = 0,
        **changes: Unpack[Changes],
    ) -> WhatIfAnswer:
        """The difference that changes make: the pods are scheduled, the changes are made, and the pods are scheduled
        again from where they are.

        `fit`: how many more replicas of a workload, a pod or a manifest fit, at most `max_replicas`. `enough`: the
        fewest nodes like these with which everything is placed. `removable`: which nodes could go. `by` is the label by
        which use is grouped, the zone by default. The changes are those of `questions.Changes`.
        """
        run = self.simulate(plugins=plugins, config=config, seed=seed)
        if isinstance(fit, str) and "\n" not in fit:
            fitted: Any = fit
        else:
            fitted = None if fit is None else self._workload(fit)
        wanted = (enough,) if isinstance(enough, str) else tuple(enough)
        made = tuple(changes_of(changes))
        return run.what_if(WhatIfQuestion(made, self._namespace, fitted, max_replicas, wanted, removable, by))

    def _workload(self, manifest: Manifests) -> Any:
        """The pod or workload of a manifest."""
        given = read_layers(layer_of([manifest], "fit"), InputOptions(self._namespace, fragment=True))
        found = [item for item, _ in given.objects if pod_spec_of(item) is not None]
        if len(found) != 1:
            raise InputError(f"fit: expected one pod or workload, got {len(found)}")
        return found[0]

    def _node(self, like: str | Manifests) -> api.Node:
        if isinstance(like, str) and "\n" not in like:
            found: api.Node = find(self.objects, f"Node/{like}", self._namespace)[0]
            return found
        given = read_layers(layer_of([like], "node"), InputOptions(self._namespace, fragment=True))
        nodes = [item for item, _ in given.objects if isinstance(item, api.Node)]
        if len(nodes) != 1:
            raise InputError(f"like: expected one Node, got {len(nodes)}")
        return nodes[0]

    def _changed(self, **fields: Any) -> Cluster:
        return replace(self, **fields, _at_rest=False, _state={})

    def _answering(self, plugins: Plugins, config: Config) -> Run:
        settings = Settings.of(config, plugins, 0, self._release)
        if config is not None or plugins:
            return self._run(settings, schedule=not self._at_rest)
        if "" not in self._state:
            self._state[""] = self._run(settings, schedule=not self._at_rest)
        return self._state[""]

    def _run(self, settings: Settings, *, schedule: bool) -> Run:
        return start_run(
            self._input,
            self._deleted,
            settings,
            start=self._start,
            namespace=self._namespace,
            as_of=AsOf(
                time="" if self._source == "manifests" else timestamp(int(self._start)),
                by=f"stowplan {__version__}",
                source=self._source,
            ),
            schedule=schedule,
            as_cluster=self._of_run,
        )

    def _of_run(self, given: Input, now: float) -> Cluster:
        return Cluster(given, self._namespace, _start=now, _source=self._source, _at_rest=True, _release=self._release)

    @cached_property
    def _counts(self) -> dict[str, int]:
        pods = self.pods
        return {
            "nodes": len(self.nodes),
            "pods": len(pods),
            "pods without a node": sum(not pod.spec.node_name for pod in pods),
            "other objects": len(self.objects) - len(self.nodes) - len(pods),
        }

    def __repr__(self) -> str:
        return f"<Cluster: {', '.join(f'{count} {what}' for what, count in self._counts.items())}>"

    def _repr_html_(self) -> str:
        return html.table(("cluster", ""), list(self._counts.items()))
