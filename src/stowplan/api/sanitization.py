"""Objects reduced to the fields that scheduling reads, for files and logs that leave the process.

The structs of this package are the allow list: a field without a struct member is left out, so passwords in volume
sources, probes, environment variables and command lines do not survive, nor do fields of later Kubernetes releases.
`_WITHHELD` and `READ_ANNOTATIONS` limit the rest. Decisions about a sanitized object equal those about the original.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import inspect

from stowplan.api.device import OpaqueDeviceConfiguration
from stowplan.api.meta import Condition, ObjectMeta, Wire
from stowplan.api.storage import StorageClass
from stowplan.api.volumes import AzureFileVolumeSource, CSIPersistentVolumeSource, Volume

Rule: TypeAlias = Callable[[Any], Any]
"""Reduces parsed JSON to the parts that survive. A value of an unexpected type becomes None."""

READ_ANNOTATIONS = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "deprecated.daemonset.template.generation",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "pv.kubernetes.io/provisioned-by",
        "resource.kubernetes.io/extended-resource-claim",
        "resource.kubernetes.io/pod-claim-name",
        "scheduling.stowplan.io/preferred-topology",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
"""Annotations that scheduling and the simulated controllers read."""

_WITHHELD = frozenset(
    {
        (AzureFileVolumeSource, "secret_name"),
        (AzureFileVolumeSource, "secret_namespace"),
        (AzureFileVolumeSource, "share_name"),
        (CSIPersistentVolumeSource, "volume_attributes"),
        (Condition, "message"),
        (OpaqueDeviceConfiguration, "parameters"),
        (StorageClass, "parameters"),
    }
)
"""Members of structs that are decoded, but that no decision depends on."""


class Sanitizer:
    """Rules for API objects, compiled from their structs on first use."""

    def __init__(self, keep_annotations: Collection[str] = ()) -> None:
        """`keep_annotations`: keys of annotations that survive in addition to those that scheduling reads."""
        self._annotations = READ_ANNOTATIONS.union(keep_annotations)
        self._rules: dict[type, Rule] = {}

    def sanitize(self, struct: type[Wire], value: object) -> Any:
        """A copy of a parsed object, with the fields of the struct that survive."""
        return self.rule(struct)(value)

    def rule(self, struct: type[Wire]) -> Rule:
        found = self._rules.get(struct)
        if found is None:
            found = self._rules[struct] = self._compile(inspect.type_info(struct))
        return found

    def _compile(self, kind: inspect.Type) -> Rule:
        match kind:
            case inspect.StructType(cls=struct, fields=fields):
                return members(dict(self._members(struct, fields)))
            case inspect.DictType(value_type=value):
                return entries(self._compile(value))
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                if isinstance(item, inspect.StructType) and item.cls is Volume:
                    return _volumes(each(self._compile(item)))
                return each(self._compile(item))
            case inspect.UnionType(types=alternatives):
                return _first_of([self._compile(alternative) for alternative in alternatives])
            case _:
                return _SCALARS.get(type(kind), _nothing)

    def _members(self, struct: type, fields: Iterable[inspect.Field]) -> Iterator[tuple[str, Rule]]:
        for field in fields:
            if struct is ObjectMeta and field.name == "annotations":
                yield field.encode_name, members(dict.fromkeys(self._annotations, text))
            elif (struct, field.name) not in _WITHHELD:
                yield field.encode_name, self._compile(field.type)


def text(value: Any) -> Any:
    return value if isinstance(value, str) else None


def number(value: Any) -> Any:
    return value if isinstance(value, int | float) else None


def each(rule: Rule) -> Rule:
    """A list whose items follow the rule."""
    return lambda value: [rule(item) for item in value] if isinstance(value, list | tuple) else None


def entries(rule: Rule) -> Rule:
    """A map with any keys, whose values follow the rule."""
    return lambda value: {key: rule(item) for key, item in value.items()} if isinstance(value, dict) else None


def members(rules: Mapping[str, Rule], fold: Callable[[str], str] = str) -> Rule:
    """An object with these members; keys are compared after `fold`."""

    def apply(value: Any) -> Any:
        if not isinstance(value, dict):
            return None
        found = ((key, rules.get(fold(key)), item) for key, item in value.items())
        return {key: rule(item) for key, rule, item in found if rule is not None}

    return apply


def _first_of(rules: list[Rule]) -> Rule:
    def apply(value: Any) -> Any:
        return next((found for rule in rules if (found := rule(value)) is not None), None)

    return apply


def _volumes(rule: Rule) -> Rule:
    """Leaves out volumes whose source is not read: their names are often those of secrets."""

    def apply(value: Any) -> Any:
        found = rule(value)
        return None if found is None else [item for item in found if item is None or item.keys() - {"name"}]

    return apply


def _nothing(value: Any) -> Any:
    return None


_SCALARS: Mapping[type, Rule] = {
    inspect.StrType: text,
    inspect.IntType: number,
    inspect.FloatType: number,
    inspect.BoolType: number,
}
