"""The words in which an API server refuses a request."""

from __future__ import annotations

from stowplan.api import Kind, ObjectMeta
from stowplan.framework.instructions import Failure

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

_INVALID_OBJECT = 4


def resource_of(kind: Kind) -> str:
    """The resource with its group, as messages name it."""
    group, slash, _ = kind.api_version.partition("/")
    return f"{kind.resource}.{group}" if slash else kind.resource


def not_found(resource: str, name: str) -> Failure:
    return Failure(f'{resource} "{name}" not found', "NotFound")


def already_exists(resource: str, name: str) -> Failure:
    return Failure(f'{resource} "{name}" already exists', "AlreadyExists")


def conflict(resource: str, name: str, why: str) -> Failure:
    return Failure(f'Operation cannot be fulfilled on {resource} "{name}": {why}', "Conflict")


def other_uid(resource: str, stored: ObjectMeta, expected: str) -> Failure:
    """The object is not the one that the request is about, though it bears its name."""
    plural, _, _ = resource.partition(".")
    key = "/".join(filter(None, ("/registry", plural, stored.namespace, stored.name)))
    why = f"Precondition failed: UID in precondition: {expected}, UID in object meta: {stored.uid}"
    details = f"Code: {_INVALID_OBJECT}, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    return conflict(resource, stored.name, f"StorageError: invalid object, {details}")


def timed_out() -> Failure:
    return Failure("Timeout: request did not complete within requested timeout - context deadline exceeded", "Timeout")
