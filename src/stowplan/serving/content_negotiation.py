"""The representation of /statusz and /flagz that an Accept header names.

Upstream: k8s.io/apiserver/pkg/server/statusz/negotiate/negotiation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from stowplan.config import yaml_text
from stowplan.errors import StowplanError

_GROUP = "config.k8s.io"
_VERSIONS = ("v1beta1", "v1alpha1")
_DEPRECATED = "v1alpha1"
_ACCEPTED = "only the following media types are accepted: application/json, application/yaml, text/plain"


class NotAcceptableError(StowplanError):
    """An Accept header without a supported media type."""


class Chosen(NamedTuple):
    """A versioned object, as JSON or YAML."""

    media_type: str
    version: str
    kind: str

    @property
    def content_type(self) -> str:
        return f"{self.media_type};g={_GROUP};v={self.version};as={self.kind}"

    @property
    def headers(self) -> Mapping[str, str]:
        if self.version != _DEPRECATED:
            return {}
        page = self.kind.lower()
        return {"Warning": f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'}


def choose(accept: str, kind: str) -> Chosen | None:
    """The first supported representation, None for text. Raises NotAcceptableError."""
    if not accept.strip():
        return None
    for item in accept.split(","):
        media_type, *parameters = (part.strip() for part in item.split(";"))
        wanted = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media_type in ("text/plain", "text/*", "*/*") and "as" not in wanted:
            return None
        if media_type in ("application/json", "application/yaml"):
            version = wanted.get("v", "")
            if wanted.get("g") == _GROUP and wanted.get("as") == kind and version in _VERSIONS:
                return Chosen(media_type, version, kind)
    raise NotAcceptableError(_ACCEPTED)


def encode(chosen: Chosen, item: Mapping[str, Any]) -> bytes:
    if chosen.media_type == "application/json":
        return msgspec.json.encode(item)
    return yaml_text.dump(msgspec.to_builtins(item)).encode()
