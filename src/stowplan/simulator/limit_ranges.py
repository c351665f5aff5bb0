"""Defaults of LimitRanges. Their minima, maxima and ratios are not enforced.

Upstream: plugin/pkg/admission/limitranger/admission.go, pkg/apis/core/v1/defaults.go
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan import api

_CONTAINER = "Container"


def with_limit_range_defaults(spec: api.PodSpec, limit_ranges: Iterable[api.LimitRange]) -> api.PodSpec:
    """The spec with the default requests and limits of a namespace's LimitRanges, in the order of their names."""
    for limit_range in sorted(limit_ranges, key=lambda each: each.metadata.name):
        requests, limits = _defaults(limit_range)
        if requests or limits:
            spec = replace(
                spec,
                containers=tuple(_with_defaults(each, requests, limits) for each in spec.containers),
                init_containers=tuple(_with_defaults(each, requests, limits) for each in spec.init_containers),
            )
    return spec


def _defaults(limit_range: api.LimitRange) -> tuple[api.ResourceList, api.ResourceList]:
    """(requests, limits) of containers. A maximum is a default limit, which is a default request, else a minimum."""
    requests: api.ResourceList = {}
    limits: api.ResourceList = {}
    for item in limit_range.spec.limits:
        if item.type == _CONTAINER:
            default = {**item.max, **item.default}
            requests |= {**item.min, **default, **item.default_request}
            limits |= default
    return requests, limits


def _with_defaults(container: api.Container, requests: api.ResourceList, limits: api.ResourceList) -> api.Container:
    resources = container.resources
    return replace(
        container,
        resources=replace(
            resources, requests={**requests, **resources.requests}, limits={**limits, **resources.limits}
        ),
    )
