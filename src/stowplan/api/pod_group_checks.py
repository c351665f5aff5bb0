"""Checks of PodGroups and Workloads, in the API server's words.

Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go
"""

from collections.abc import Sequence

from stowplan.api.checks import Problems, below, one_of
from stowplan.api.names import dns_label_errors, label_key_errors, subdomain_errors
from stowplan.api.pod import PodResourceClaim
from stowplan.api.pod_group import (
    DISRUPTION_MODES,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupTemplate,
    Workload,
)
from stowplan.api.selectors import quoted

_REQUIRED = "Required value"
_MAX_TOPOLOGY_KEYS = 1
_MAX_CLAIMS = 4
_MAX_TEMPLATES = 8
_MAX_PRIORITY = 1_000_000_000


def pod_group_problems(group: PodGroup) -> Problems:
    """All problems of a PodGroup, its metadata excepted."""
    yield from below(".spec", _rules(group.spec))


def workload_problems(workload: Workload) -> Problems:
    """All problems of a Workload, its metadata excepted."""
    templates = workload.spec.pod_group_templates
    path = ".spec.podGroupTemplates"
    if not templates:
        yield path, _REQUIRED
    yield from _at_most(path, len(templates), _MAX_TEMPLATES)
    yield from _unique_names(path, [template.name for template in templates])
    for i, template in enumerate(templates):
        yield from below(f"{path}[{i}]", _rules(template))


def _rules(spec: PodGroupSpec | PodGroupTemplate) -> Problems:
    yield from below(".schedulingPolicy", _policy(spec.scheduling_policy))
    if spec.scheduling_constraints is not None:
        yield from below(".schedulingConstraints.topology", _topology(spec.scheduling_constraints))
    yield from below(".resourceClaims", _claims(spec.resource_claims))
    if spec.disruption_mode is not None:
        yield from one_of(".disruptionMode", spec.disruption_mode, DISRUPTION_MODES)
    if spec.priority is not None and spec.priority > _MAX_PRIORITY:
        yield ".priority", f"must be less than or equal to {_MAX_PRIORITY}"


def _policy(policy: PodGroupSchedulingPolicy) -> Problems:
    policies = [name for name in ("basic", "gang") if getattr(policy, name) is not None]
    if not policies:
        yield "", "must specify one of: `basic`, `gang`"
    elif len(policies) > 1:
        yield "", "must specify exactly one of: `basic`, `gang`"
    if policy.gang is not None and policy.gang.min_count < 1:
        yield ".gang.minCount", "must be greater than or equal to 1" if policy.gang.min_count else _REQUIRED


def _topology(constraints: PodGroupSchedulingConstraints) -> Problems:
    yield from _at_most("", len(constraints.topology), _MAX_TOPOLOGY_KEYS)
    for i, constraint in enumerate(constraints.topology):
        if not constraint.key:
            yield f"[{i}].key", _REQUIRED
            continue
        for problem in label_key_errors(constraint.key):
            yield f"[{i}].key", f"{problem}: {quoted(constraint.key)}"


def _claims(claims: Sequence[PodResourceClaim]) -> Problems:
    yield from _at_most("", len(claims), _MAX_CLAIMS)
    yield from _unique_names("", [claim.name for claim in claims])
    for i, claim in enumerate(claims):
        names = {
            "resourceClaimName": claim.resource_claim_name,
            "resourceClaimTemplateName": claim.resource_claim_template_name,
        }
        given = {field: name for field, name in names.items() if name is not None}
        if len(given) != 1:
            exactly = "exactly one" if given else "one"
            yield f"[{i}]", f"must specify {exactly} of: {', '.join(f'`{field}`' for field in names)}"
        for field, name in given.items():
            for problem in subdomain_errors(name):
                yield f"[{i}].{field}", f"{problem}: {quoted(name)}"


def _at_most(path: str, count: int, limit: int) -> Problems:
    if count > limit:
        yield path, f"must have at most {limit} items"


def _unique_names(path: str, names: Sequence[str]) -> Problems:
    """Names are required, unique DNS labels."""
    for i, name in enumerate(names):
        if not name:
            yield f"{path}[{i}].name", _REQUIRED
        elif name in names[:i]:
            yield f"{path}[{i}]", f"Duplicate value: {quoted(name)}"
        else:
            for problem in dns_label_errors(name):
                yield f"{path}[{i}].name", f"{problem}: {quoted(name)}"
