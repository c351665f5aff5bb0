"""Evaluates cases with a profile."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.cache.templates import PER_REPLICA_LABELS
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.defaults import ALPHA_PLUGINS
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.errors import ConfigError, InputError, StowplanError
from stowplan.evaluation.case import Case, ClusterCase, GroupCase, read_any_case
from stowplan.evaluation.documents import cases_of
from stowplan.evaluation.fields import id_of
from stowplan.evaluation.group_evaluation import (
    FirstChoice,
    LoadedGroup,
    evaluate_group,
    load_members,
    with_words,
)
from stowplan.evaluation.verdict import verdict_of
from stowplan.framework import DecisionRecord, Pod
from stowplan.framework.plugin import need_objects
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Factory, Profile, build_profiles, enable_everywhere
from stowplan.runtime.decide.decision import record_of, rejection
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.fit_error import fit_error
from stowplan.runtime.preemption import eligibility, search

ConfigReader = Callable[[Release], KubeSchedulerConfiguration]
"""Reads a configuration with the defaults of a release."""

_MAX_ERROR_LENGTH = 1000
_encode = msgspec.json.Encoder().encode


class Evaluator:
    """Evaluates cases one by one, each in a cluster of its own.

    `on_bug` receives unexpected exceptions; the verdict of the case is an internal error. `release` is the release of
    kube-scheduler whose verdicts are given, unless a case or a given configuration has its own. With `group_fixes`,
    pod groups are decided without the mistakes of kube-scheduler v1.36 that later releases mend.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration | ConfigReader | None = None,
        plugins: Mapping[str, Factory] | None = None,
        on_bug: Callable[[Exception], None] = lambda bug: None,
        release: Release = LATEST,
        *,
        group_fixes: bool = False,
    ) -> None:
        self._group_fixes = group_fixes
        self._plugins = dict(plugins or {})
        self._registry: dict[str, Factory] = {**REGISTRY, **self._plugins}
        self._release = release
        if isinstance(config, KubeSchedulerConfiguration):
            self._release, self._read_config = config.release, config.for_release
        else:
            self._read_config = cache(config or default_configuration)
        self._needs_objects = need_objects(self._plugins.values())
        self._on_bug = on_bug
        self.failures = 0
        """Cases without a verdict so far."""
        self.plugin_bugs: dict[str, str] = {}
        """The first bug of each plugin that has shown one so far, by the plugin's name."""

    @property
    def known_plugins(self) -> frozenset[str]:
        return frozenset(IN_TREE_PLUGINS) | frozenset(self._plugins)

    def verdict(self, case: bytes | str | Mapping[str, Any]) -> dict[str, Any]:
        """The verdict on one case: a dict, JSON, or YAML; `error` if there is none."""
        if isinstance(case, Mapping):
            return self._plain(msgspec.json.encode(case))
        text = case.encode() if isinstance(case, str) else case
        try:
            cases = list(cases_of(iter(text.splitlines(keepends=True))))
            if len(cases) != 1:
                raise InputError(f"expected one case, got {len(cases)}")
        except StowplanError as problem:
            return self._failure(b"", problem)
        return self._plain(cases[0])

    def _plain(self, line: bytes) -> dict[str, Any]:
        """The verdict as JSON has it."""
        verdict: dict[str, Any] = msgspec.json.decode(self.answer(line))
        return verdict

    def answer(self, line: bytes) -> bytes:
        """The verdict on one line of input, as one line of output."""
        try:
            return _encode(self.line(line)) + b"\n"
        except Exception as bug:
            return _encode(self._failure(line, bug)) + b"\n"

    def line(self, line: bytes) -> dict[str, Any]:
        """The verdict on one line of input, or its error."""
        try:
            case = read_any_case(line)
            verdict = self.group(case) if isinstance(case, GroupCase) else verdict_of(self.record(case, line))
            return {"id": case.id, **verdict}
        except Exception as problem:
            return self._failure(line, problem)

    def _failure(self, line: bytes, problem: Exception) -> dict[str, Any]:
        self.failures += 1
        if isinstance(problem, ConfigError):
            text = "; ".join(problem.problems)
        elif isinstance(problem, StowplanError):
            text = str(problem)
        else:
            self._on_bug(problem)
            what = "a number is too large" if isinstance(problem, OverflowError) else "internal error"
            text = f"{what}: {type(problem).__name__}: {problem}"
        return {"id": id_of(line), "error": _one_line(text)}

    def record(self, case: Case, line: bytes = b"") -> DecisionRecord:
        """The complete decision record of a case."""
        whole = codec.whole(line) if self._needs_objects else None
        config = self._config_of(case)
        cluster = Cluster(keep_objects=self._needs_objects, release=config.release)
        # Nominated pods are not counted, so their templates would not be split by these labels later.
        cluster.reads_labels(PER_REPLICA_LABELS)
        nominator = Nominator()
        if config.extenders:
            raise InputError("config: $.extenders: extenders are not called in an evaluation")
        profiles = build_profiles(config, self._registry, cluster, nominator, random.Random(0))
        profile = profiles.get(case.pod.spec.scheduler_name)
        if profile is None:
            raise InputError(f'no profile for schedulerName "{case.pod.spec.scheduler_name}"')
        waiting = _load(case, cluster, whole)
        pod = cluster.pod(case.pod, None if whole is None else whole["pod"])
        _nominate(waiting, profiles, nominator)
        try:
            return evaluate(profile, pod)
        finally:
            self.plugin_bugs = profile.plugin_bugs() | self.plugin_bugs

    def _config_of(self, case: Case) -> KubeSchedulerConfiguration:
        return self._config_for(case, case.release or self._release, self.known_plugins)

    def _config_for(self, case: ClusterCase, release: Release, known: frozenset[str]) -> KubeSchedulerConfiguration:
        if case.config is not None:
            config = from_builtins(case.config, "config", known, release)
        else:
            config = self._read_config(release)
        return enable_everywhere(config, self._plugins)

    def group(self, case: GroupCase, *, afresh: bool = True) -> dict[str, Any]:
        """The verdict on a pod group; without `afresh`, with kept answers."""
        release = with_words(case.release or self._release, case.gates)
        config = self._config_for(case, release, self.known_plugins | frozenset(ALPHA_PLUGINS))
        if config.extenders:
            raise InputError("config: $.extenders: extenders are not called in an evaluation")
        cluster, nominator = Cluster(release=release), Nominator()
        cluster.reads_labels(PER_REPLICA_LABELS)
        rng = FirstChoice(0) if case.ties == "name" else random.Random(0)
        profiles = build_profiles(config, self._registry, cluster, nominator, rng)
        for pod in case.group_pods:
            if pod.spec.scheduler_name not in profiles:
                raise InputError(f'no profile for schedulerName "{pod.spec.scheduler_name}"')
        for profile in profiles.values():
            profile.sampler = None
            profile.ties.by_name = case.ties == "name"
        waiting = _load(case, cluster, None)
        members = load_members(case, cluster)
        _nominate(waiting, profiles, nominator)
        try:
            loaded = LoadedGroup(cluster, nominator, profiles, members)
            return evaluate_group(case, loaded, fixes=self._group_fixes, afresh=afresh)
        finally:
            for profile in profiles.values():
                self.plugin_bugs = profile.plugin_bugs() | self.plugin_bugs


def _nominate(waiting: Iterable[Pod], profiles: Mapping[str, Profile], nominator: Nominator) -> None:
    """Nominated pods count unless they are kept out of the queue."""
    for pod in waiting:
        profile = profiles.get(pod.spec.scheduler_name)
        if profile is not None and profile.pre_enqueue(pod) is None:
            nominator.add(pod)


def _one_line(text: str) -> str:
    """The text on one line, shortened and encodable."""
    text = (
        " ".join(text.split()) if len(text) <= _MAX_ERROR_LENGTH else " ".join(text[:_MAX_ERROR_LENGTH].split()) + "…"
    )
    return text.encode(errors="replace").decode()


def evaluate(profile: Profile, pod: Pod) -> DecisionRecord:
    """Runs all extension points up to Score on every node, and preemption on every candidate node."""
    gated = profile.pre_enqueue(pod)
    if gated is not None:
        return DecisionRecord(pod=pod.key, uid=pod.uid, scheduler_name=profile.name, pre_enqueue=rejection(gated))
    diagnosis = Diagnosis(profile, pod).run()
    if len(diagnosis.feasible):
        return record_of(diagnosis.score(), None)
    message = fit_error(diagnosis)
    for plugin in profile.post_filters:
        rules = plugin.victim_rules(diagnosis.state, pod)
        if rules is None and plugin.name != "DefaultPreemption":
            continue
        reason = eligibility(diagnosis, rules)
        if reason:
            return record_of(diagnosis, None, message=f"{message} | not eligible: {reason}")
        return record_of(diagnosis, search(diagnosis, None, rules), message=message)
    return record_of(diagnosis, None, message=message)


def _load(case: ClusterCase, cluster: Cluster, whole: dict[str, Any] | None) -> list[Pod]:
    """Load the cluster of a case into the cache; returns the nominated pods."""

    def source(field: str, index: int) -> Any:
        return None if whole is None else whole[field][index]

    for item in case.lookups():
        cluster.put(item)
    order = sorted(range(len(case.nodes)), key=lambda i: case.nodes[i].metadata.name)
    for index in order:
        cluster.put_node(case.nodes[index], source("nodes", index))
    positions = {id(pod): index for index, pod in enumerate(case.pods)}
    for running in case.running():
        cluster.add_pod(cluster.pod(running, source("pods", positions[id(running)])))
    return [cluster.pod(pod, source("nominatedPods", index)) for index, pod in enumerate(case.nominated_pods)]
