"""ResourceQuota admission of pods: a pod over quota is not created.

Quotas on other objects, and the scopes Terminating, NotTerminating and CrossNamespacePodAffinity, are not enforced.

Upstream: k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go, pkg/quota/v1/evaluator/core/pods.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from stowplan import api
from stowplan.api.quantity import Exact, canonical, parse
from stowplan.cache.requests import is_extended_resource, pod_requests
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.pod_status import is_finished

V = TypeVar("V")
Usage = dict[str, Exact]

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_MUST_BE_SET = frozenset(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory"))
_COUNTS = ("pods", "count/pods")
_BEST_EFFORT, _NOT_BEST_EFFORT, _PRIORITY_CLASS = "BestEffort", "NotBestEffort", "PriorityClass"
_NANO = 10**9


class Quotas:
    """The use of each quota, by namespace and name. Kept up to date from the first check in a namespace on."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._used: dict[str, dict[str, Usage]] = {}

    def forbids(self, pod: api.Pod) -> str:
        """The API server's message if a quota forbids the pod; empty otherwise."""
        quotas = self._quotas(pod.metadata.namespace)
        if not quotas:
            return ""
        matching = [quota for quota in quotas if _matches(quota, pod)]
        why = next(_problems(matching, pod, self._used_in(pod.metadata.namespace, quotas)), "")
        return f'pods "{pod.metadata.name}" is forbidden: {why}' if why else ""

    def _quotas(self, namespace: str) -> list[api.ResourceQuota]:
        if not self._api_server.count(api.ResourceQuota):
            return []
        found = (each for each in self._api_server.all(api.ResourceQuota) if each.metadata.namespace == namespace)
        return sorted((each for each in found if not unsupported_scopes(each)), key=lambda each: each.metadata.name)

    def _used_in(self, namespace: str, quotas: list[api.ResourceQuota]) -> dict[str, Usage]:
        if namespace not in self._used:
            if not self._used:
                self._api_server.listen(api.Pod, self._on_pod)
            self._used[namespace] = {quota.metadata.name: {} for quota in quotas}
            for pod in self._api_server.all(api.Pod):
                if pod.metadata.namespace == namespace:
                    self._on_pod(None, pod)
        return self._used[namespace]

    def _on_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        either = new or old
        assert either is not None
        used = self._used.get(either.metadata.namespace)
        if used is None or (old is not None and new is not None and is_finished(old) == is_finished(new)):
            return
        for pod, sign in ((old, -1), (new, 1)):
            if pod is not None:
                for quota in self._quotas(pod.metadata.namespace):
                    if _matches(quota, pod):
                        _add(used.setdefault(quota.metadata.name, {}), pod_usage(pod), sign)


def pod_usage(pod: api.Pod) -> Usage:
    """What a pod takes of a quota, by the quota's names of resources. A finished pod is counted as an object only."""
    if is_finished(pod):
        return {"count/pods": _NANO}
    return {**dict.fromkeys(_COUNTS, _NANO), **_compute(pod_requests(pod.spec), _limits(pod.spec))}


def unsupported_scopes(quota: api.ResourceQuota) -> list[str]:
    """Scopes of a quota that are not simulated; such a quota is not enforced."""
    scopes = [*quota.spec.scopes, *(each.scope_name for each in _expressions(quota))]
    return [scope for scope in scopes if scope not in (_BEST_EFFORT, _NOT_BEST_EFFORT, _PRIORITY_CLASS)]


def unsupported_resources(quota: api.ResourceQuota) -> list[str]:
    """Limited resources that pods do not use."""
    return [name for name in quota.spec.hard if not _is_of_pods(name)]


def _problems(quotas: list[api.ResourceQuota], pod: api.Pod, used: dict[str, Usage]) -> Iterator[str]:
    for quota in quotas:
        if pod.spec.resources is None and (unset := _unset(quota, pod.spec)):
            yield f"failed quota: {quota.metadata.name}: must specify {unset}"
    usage = pod_usage(pod)
    for quota in quotas:
        before = used.get(quota.metadata.name, {})
        hard = {name: parse(amount) for name, amount in quota.spec.hard.items()}
        exceeded = sorted(name for name in hard if name in usage and before.get(name, 0) + usage[name] > hard[name])
        if exceeded:
            parts = (_shown(quota, exceeded, amounts) for amounts in (usage, before, hard))
            yield "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.metadata.name, *parts)


def _shown(quota: api.ResourceQuota, names: Iterable[str], amounts: Usage) -> str:
    """Amounts in the notation of the quota."""
    hard = quota.spec.hard
    return ",".join(f"{name}={canonical(amounts.get(name, 0), binary=str(hard[name]).endswith('i'))}" for name in names)


def _unset(quota: api.ResourceQuota, spec: api.PodSpec) -> str:
    """Limited resources that a container does not set, with the containers' names."""
    missing: dict[str, set[str]] = {}
    for container in (*spec.containers, *spec.init_containers):
        given = _compute(container.resources.requests, container.resources.limits)
        for name in _MUST_BE_SET.intersection(quota.spec.hard).difference(given):
            missing.setdefault(name, set()).add(container.name)
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _compute(requests: Mapping[str, V], limits: Mapping[str, V]) -> dict[str, V]:
    """Requests and limits by the quota's names of resources."""
    result: dict[str, V] = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            result[name] = result[f"requests.{name}"] = amount
        elif is_extended_resource(name):
            result[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in _COMPUTE:
            result[f"limits.{name}"] = amount
    return result


def _limits(spec: api.PodSpec) -> Usage:
    """The limits of a whole pod, added up as requests are."""

    def swapped(container: api.Container) -> api.Container:
        limits = container.resources.limits
        return replace(container, resources=replace(container.resources, requests=limits))

    whole = spec.resources
    limits = pod_requests(
        replace(
            spec,
            containers=tuple(map(swapped, spec.containers)),
            init_containers=tuple(map(swapped, spec.init_containers)),
            resources=None if whole is None else replace(whole, requests=whole.limits),
            overhead={},
        )
    )
    return {name: amount + parse(spec.overhead.get(name, 0)) for name, amount in limits.items()}


def _matches(quota: api.ResourceQuota, pod: api.Pod) -> bool:
    for scope in quota.spec.scopes:
        if scope == _PRIORITY_CLASS:
            if not pod.spec.priority_class_name:
                return False
        elif (scope == _BEST_EFFORT) != _is_best_effort(pod.spec):
            return False
    return all(_matches_expression(each, pod) for each in _expressions(quota))


def _matches_expression(expression: api.ScopedResourceSelectorRequirement, pod: api.Pod) -> bool:
    if expression.scope_name != _PRIORITY_CLASS:
        return (expression.scope_name == _BEST_EFFORT) == _is_best_effort(pod.spec)
    name = pod.spec.priority_class_name
    return {
        "In": name in expression.values,
        "NotIn": name not in expression.values,
        "Exists": bool(name),
        "DoesNotExist": not name,
    }.get(expression.operator, False)


def _expressions(quota: api.ResourceQuota) -> tuple[api.ScopedResourceSelectorRequirement, ...]:
    return () if quota.spec.scope_selector is None else quota.spec.scope_selector.match_expressions


def _is_best_effort(spec: api.PodSpec) -> bool:
    every = [each.resources for each in (*spec.containers, *spec.init_containers)]
    every += [] if spec.resources is None else [spec.resources]
    lists = [amounts for each in every for amounts in (each.requests, each.limits)]
    return not any(name in amounts for amounts in lists for name in ("cpu", "memory"))


def _is_of_pods(name: str) -> bool:
    bare = name.removeprefix("requests.").removeprefix("limits.")
    is_extended = name.startswith("requests.") and is_extended_resource(bare)
    return name in _COUNTS or bare in _COMPUTE or bare.startswith("hugepages-") or is_extended


def _add(total: Usage, usage: Usage, sign: int) -> None:
    for name, amount in usage.items():
        total[name] = total.get(name, 0) + sign * amount
