"""Converts a configuration of any version to v1, as plain data."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from stowplan.config.conversion.api_versions import POLICY, ApiVersion, version_of
from stowplan.config.conversion.extenders import convert_extenders
from stowplan.config.conversion.insecure_addresses import InsecureServing
from stowplan.config.conversion.notices import Notice, Notices
from stowplan.config.conversion.plugin_args import FIT
from stowplan.config.conversion.policy import PolicyPlugins, read_policy
from stowplan.config.conversion.profiles import ProfileChanges, check_names, convert_profile, keep_profile
from stowplan.config.conversion.settings import (
    convert_settings,
    plain_http,
    policy_source,
    profile_settings,
)
from stowplan.config.conversion.sources import PolicyReader, refuse
from stowplan.config.dump import without_nulls
from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.strict_decoding import decode
from stowplan.config.text import parse
from stowplan.config.types import API_VERSION, KIND
from stowplan.framework.points import MULTI_POINT

V1 = "v1"
_HEAD = {"apiVersion": API_VERSION, "kind": KIND}


class Converted(NamedTuple):
    """A configuration converted to v1."""

    version: str
    value: dict[str, Any]
    notices: tuple[Notice, ...] = ()
    plain_http: InsecureServing = InsecureServing()
    moved: tuple[tuple[str, str], ...] = ()
    """Pairs of new and original path."""

    def original_path(self, path: str) -> str:
        """The original path of a path in the result."""
        for now, before in self.moved:
            if path.startswith(now):
                return before + path.removeprefix(now)
        return path


def convert(
    value: Mapping[str, Any],
    source: str,
    known_plugins: Collection[str] | None = None,
    policies: PolicyReader = refuse,
) -> Converted:
    """Convert a document to v1; a v1 document is kept. Raises InvalidConfigurationError with all errors."""
    version = version_of(value)
    if version is None:
        return Converted(V1, dict(value))
    conversion = _Conversion(version, source, known_plugins, policies)
    plain = conversion.plain(value, "$")
    converted = conversion.policy(plain) if version is POLICY else conversion.configuration(plain)
    conversion.give_up_if_faulty()
    return converted


class _Conversion:
    def __init__(
        self, version: ApiVersion, source: str, known_plugins: Collection[str] | None, policies: PolicyReader
    ) -> None:
        self._version = version
        self._source = source
        self._known = known_plugins
        self._policies = policies
        self._notices = Notices(source)
        self._problems = Problems()

    def give_up_if_faulty(self) -> None:
        if self._problems.errors:
            raise InvalidConfigurationError(self._source, self._problems.errors)

    def plain(self, value: Mapping[str, Any], root: str) -> dict[str, Any]:
        """The data without nulls; nulls in lists are errors."""
        for path in _nulls(value, root):
            self._problems.add(path, "must not be null")
        self.give_up_if_faulty()
        plain: dict[str, Any] = without_nulls(value)
        return plain

    def policy(self, value: Mapping[str, Any]) -> Converted:
        """A Policy by itself."""
        policy = read_policy(value, "$", self._problems)
        self.give_up_if_faulty()
        return self._of_policy(policy, "$", {}, {}, InsecureServing())

    def configuration(self, value: Mapping[str, Any]) -> Converted:
        """A KubeSchedulerConfiguration."""
        decode(value, self._version.shape, "$", self._problems)
        self.give_up_if_faulty()
        settings = convert_settings(value, self._notices)
        serving = plain_http(value, self._version, self._notices, self._problems)
        location = policy_source(value, self._problems)
        self.give_up_if_faulty()
        if location is not None:
            root = f"{location}: $"
            text, repeated = parse(self._policies(location), f"{self._source}: {location}")
            self._problems.errors += [error._replace(path=f"{location}: {error.path}") for error in repeated]
            if version_of(text) is not POLICY:
                self._problems.invalid(f"{root}.kind", text.get("kind"), "must be Policy")
            policy = read_policy(self.plain(text, root), root, self._problems)
            self.give_up_if_faulty()
            return self._of_policy(policy, root, value, settings, serving)
        changes = profile_settings(value)
        written = value.get("profiles", ()) if "profiles" in self._version.shape.__struct_fields__ else (value,)
        profiles = [self._profile(profile, index, changes) for index, profile in enumerate(written or ({},))]
        extenders = value.get("extenders", [])
        if self._version.policy_extenders:
            extenders = convert_extenders(extenders, "$", self._notices, self._problems)
        return self._converted(settings, profiles, extenders, serving, self._version.moved)

    def _profile(self, profile: Mapping[str, Any], index: int, changes: ProfileChanges) -> dict[str, Any]:
        path = "$" if self._version.moved else f"$.profiles[{index}]"
        check_names(profile, path, self._known, self._problems)
        if self._version.defaults is None:
            return keep_profile(profile, path, self._notices)
        return convert_profile(profile, path, self._version, changes, self._notices, self._problems)

    def _of_policy(
        self,
        policy: Mapping[str, Any],
        root: str,
        value: Mapping[str, Any],
        settings: dict[str, Any],
        serving: InsecureServing,
    ) -> Converted:
        plugins = PolicyPlugins(policy, root, self._notices, self._problems)
        changes = profile_settings(value)
        changes = changes._replace(defaults=plugins.lists, args={**changes.args, **plugins.args})
        profile = {key: value[key] for key in ("schedulerName", "plugins", "pluginConfig") if key in value}
        check_names(profile, "$", self._known, self._problems)
        version = POLICY._replace(points=self._version.points)
        converted = convert_profile(profile, "$", version, changes, self._notices, self._problems)
        extenders = convert_extenders(policy.get("extenders", ()), root, self._notices, self._problems)
        return self._converted(
            settings, [converted], extenders, serving, (*self._version.moved, ("$.extenders", f"{root}.extenders"))
        )

    def _converted(
        self,
        settings: dict[str, Any],
        profiles: list[dict[str, Any]],
        extenders: list[dict[str, Any]],
        serving: InsecureServing,
        moved: tuple[tuple[str, str], ...],
    ) -> Converted:
        value = {**_HEAD, **settings}
        if any(profiles):
            value["profiles"] = profiles
        if extenders:
            value["extenders"] = extenders
            _give_place_to_ignored(profiles, extenders)
        return Converted(self._version.name, value, tuple(self._notices.items), serving, moved)


def _nulls(value: Any, path: str) -> Iterator[str]:
    """Paths of nulls in lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _nulls(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from [f"{path}[{index}]"] if item is None else _nulls(item, f"{path}[{index}]")


def _give_place_to_ignored(profiles: list[dict[str, Any]], extenders: list[dict[str, Any]]) -> None:
    """Add args of NodeResourcesFit if extenders have resources that the scheduler ignores."""
    managed = [extender.get("managedResources") for extender in extenders]
    resources = [resource for each in managed if isinstance(each, list) for resource in each]
    if not any(resource.get("ignoredByScheduler") for resource in resources if isinstance(resource, dict)):
        return
    for profile in profiles:
        gone = profile.get("plugins", {}).get(MULTI_POINT, {}).get("disabled", ())
        if {"name": FIT} in gone and not any(item["name"] == FIT for item in profile.get("pluginConfig", ())):
            profile["pluginConfig"] = [*profile.get("pluginConfig", ()), {"name": FIT, "args": {}}]
