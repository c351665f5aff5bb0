"""API versions of the configuration and their differences."""

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
    """A version of the configuration, and its releases."""

    name: str
    shape: type[Strict]
    defaults: Mapping[str, tuple[OldPlugin, ...]] | None = None
    """Default plugins of its releases; None if today's are used."""
    points: Mapping[str, str] = MappingProxyType({})
    """Renamed extension points."""
    plain_http: bool = False
    """Whether health and metrics were served over plain HTTP by default."""
    policy_extenders: bool = False
    """Whether extenders have the Policy's format."""
    any_case: bool = False
    """Whether keys of args are case-insensitive."""
    system_spread: bool = True
    """Whether PodTopologySpread had system default constraints."""
    moved: tuple[tuple[str, str], ...] = ()
    """Original paths of fields of v1, for messages."""


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

API_VERSIONS: dict[str, ApiVersion] = {
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
"""By apiVersion, oldest first; a Policy is recognized by its kind or fields."""

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


def version_of(value: Mapping[str, Any]) -> ApiVersion | None:
    """The version of a document; None for v1 and for documents of other kinds."""
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind == POLICY_KIND:
        return POLICY
    if kind is None and version is None:
        return POLICY if value and {key.lower() for key in value} <= _POLICY_FIELDS else None
    return API_VERSIONS.get(version) if kind == KIND and isinstance(version, str) else None
