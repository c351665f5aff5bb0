"""The eras: what tells them from one another."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from stowplan.config.conversion.old_types import Policy, V1Alpha1, V1Alpha2, V1Beta2, V1Beta3
from stowplan.config.conversion.plugin_tables import ALPHA_DEFAULTS, V1BETA1_DEFAULTS, V1BETA2_DEFAULTS, OldPlugin
from stowplan.config.types import GROUP, KIND, Strict

POLICY_KIND = "Policy"
_ONE_PROFILE = (
    ("$.profiles[0].plugins", "$.plugins"),
    ("$.profiles[0].pluginConfig", "$.pluginConfig"),
    ("$.profiles[0].schedulerName", "$.schedulerName"),
)


class ApiVersion(NamedTuple):
    """A version of the configuration, and the releases that read it."""

    name: str
    shape: type[Strict]
    defaults: Mapping[str, tuple[OldPlugin, ...]] | None = None
    """The default plugins of its releases; None where they are added as they are today."""
    points: Mapping[str, str] = MappingProxyType({})
    """Points that mean another one of today."""
    plain_http: bool = False
    """Whether health and metrics were served over plain HTTP unless somebody said otherwise."""
    policy_extenders: bool = False
    """Whether extenders are written as in a Policy."""
    any_case: bool = False
    """Whether keys of args may be in any case."""
    system_spread: bool = True
    """Whether PodTopologySpread spread pods without constraints by itself."""
    moved: tuple[tuple[str, str], ...] = ()
    """Where fields of v1 come from, for messages about them."""


_V1ALPHA1 = ApiVersion(
    name="v1alpha1",
    shape=V1Alpha1,
    defaults=ALPHA_DEFAULTS,
    points=MappingProxyType({"postFilter": "preScore"}),
    plain_http=True,
    any_case=True,
    system_spread=False,
    moved=_ONE_PROFILE,
)

POLICY = ApiVersion(
    name="policy-v1",
    shape=Policy,
    defaults=V1BETA1_DEFAULTS,
    policy_extenders=True,
    any_case=True,
    system_spread=False,
)

ERAS: dict[str, ApiVersion] = {
    "componentconfig/v1alpha1": _V1ALPHA1,
    f"{GROUP}/v1alpha1": _V1ALPHA1,
    f"{GROUP}/v1alpha2": ApiVersion(
        name="v1alpha2",
        shape=V1Alpha2,
        defaults=ALPHA_DEFAULTS,
        plain_http=True,
        policy_extenders=True,
        any_case=True,
        system_spread=False,
    ),
    f"{GROUP}/v1beta1": ApiVersion(name="v1beta1", shape=V1Beta2, defaults=V1BETA1_DEFAULTS, plain_http=True),
    f"{GROUP}/v1beta2": ApiVersion(name="v1beta2", shape=V1Beta2, defaults=V1BETA2_DEFAULTS),
    f"{GROUP}/v1beta3": ApiVersion(name="v1beta3", shape=V1Beta3),
}
"""By apiVersion, oldest first; a Policy is known by its kind, or by its fields."""

_POLICY_FIELDS = frozenset(
    {
        "alwayscheckallpredicates",
        "extenderconfigs",
        "extenders",
        "hardpodaffinitysymmetricweight",
        "predicates",
        "priorities",
    }
)


def era_of(value: Mapping[str, Any]) -> ApiVersion | None:
    """The era of a document; None for v1, and for what is no configuration at all."""
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind == POLICY_KIND:
        return POLICY
    if kind is None and version is None:
        return POLICY if value and {key.lower() for key in value} <= _POLICY_FIELDS else None
    return ERAS.get(version) if kind == KIND and isinstance(version, str) else None
