"""The base struct, metadata, label selectors and references.

Upstream: k8s.io/apimachinery/pkg/apis/meta/v1/types.go
"""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import fields

from stowplan.api.read_only import EMPTY

__all__ = [
    "Condition", "Int32", "Int64", "LabelSelector", "LabelSelectorRequirement", "ObjectMeta", "ObjectReference",
    "OwnerReference", "Quantity", "ResourceList", "Wire",
]  # fmt: skip

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

Quantity: TypeAlias = str | int | float
"""A resource quantity as in JSON; `stowplan.api.quantity` parses it."""

ResourceList: TypeAlias = dict[str, Quantity]


class Wire(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all API structs.

    The fields are those that the scheduler reads; others are skipped. Instances are immutable trees without cycles,
    hence `gc=False`: the garbage collector does not walk the objects of a large cluster.
    """


@cache
def add_wire_names() -> None:
    """Lets all API structs be read in the spelling of manifests too: `pod.spec.nodeSelector`. Called where out-of-tree
    plugins run. Properties, since `__getattr__` would slow down every read of a field."""
    pending: list[type[Struct]] = [Wire]
    while pending:
        struct = pending.pop()
        pending += struct.__subclasses__()
        for field in fields(struct):
            if not hasattr(struct, field.encode_name):
                setattr(struct, field.encode_name, property(_reader(field.name)))


def _reader(name: str) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        return getattr(self, name)

    return read


class OwnerReference(Wire, frozen=True, kw_only=True):
    """The object that owns this one."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """Identity, labels, annotations and lifecycle of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = EMPTY
    annotations: dict[str, str] = EMPTY
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class LabelSelectorRequirement(Wire, frozen=True, kw_only=True):
    """One expression of a label selector: In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, kw_only=True):
    """Labels and expressions that must all hold. An absent selector matches nothing, an empty one everything."""

    match_labels: dict[str, str] = EMPTY
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Wire, frozen=True, kw_only=True):
    """A reference to an object of any kind."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class Condition(Wire, frozen=True, kw_only=True):
    """A condition of an object's status."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 = 0
    last_transition_time: str = ""
    reason: str = ""
    message: str = ""
