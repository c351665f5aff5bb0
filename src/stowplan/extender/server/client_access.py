"""Access by client certificate: its names must be on a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_NAMES = ("DNS", "URI", "email", "IP Address")


class Access:
    """Decides by the certificate that TLS has verified. Without a client CA every client has access."""

    def __init__(self, *, required: bool, allowed_names: Collection[str] = ()) -> None:
        """With `required`, clients need a certificate; with `allowed_names`, it must have one of these names."""
        self._required = required
        self._allowed = frozenset(allowed_names)

    def refusal(self, certificate: Mapping[str, Any] | None) -> tuple[int, str] | None:
        """HTTP status and reason of the refusal; None if the client has access."""
        if not self._required:
            return None
        if not certificate:
            return 401, "a client certificate is required"
        if self._allowed:
            names = names_of(certificate)
            if self._allowed.isdisjoint(names):
                shown = ", ".join(names) or "no name at all"
                return 403, f"the client certificate is for {shown}, which is not among the allowed names"
        return None


def names_of(certificate: Mapping[str, Any]) -> list[str]:
    """The common name and all alternative names."""
    fields = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for field, value in fields if field == "commonName"]
    names += [value for kind, value in certificate.get("subjectAltName", ()) if kind in _NAMES]
    return list(dict.fromkeys(names))
