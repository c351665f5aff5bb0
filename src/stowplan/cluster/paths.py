"""The paths of the API."""

from stowplan.api.kinds import Kind


def collection_path(kind: Kind, namespace: str = "") -> str:
    """Where all objects of a kind are, or those of one namespace."""
    root = "/api/v1" if kind.api_version == "v1" else f"/apis/{kind.api_version}"
    return f"{root}/namespaces/{namespace}/{kind.resource}" if namespace else f"{root}/{kind.resource}"


def object_path(kind: Kind, name: str, namespace: str = "") -> str:
    """Where one object is."""
    return f"{collection_path(kind, namespace)}/{name}"
