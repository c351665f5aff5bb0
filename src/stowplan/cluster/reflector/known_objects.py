"""The objects that a reflector has delivered, by name, to find those that vanished or changed between watches.

Upstream: k8s.io/client-go/tools/cache/delta_fifo.go (Replace)
"""

from sys import intern
from typing import Any

from stowplan.api.kinds import Kind
from stowplan.api.meta import ObjectMeta

_Key = tuple[str, str]
"""Namespace and name."""
_Version = tuple[str, str]
"""uid and resourceVersion of an object that the sink has. A plain tuple: it takes a third of a named one's time."""


class KnownObjects:
    """Names and versions of the objects that the sink has."""

    def __init__(self, kind: Kind) -> None:
        self._struct: Any = kind.struct
        self._known: dict[_Key, _Version] = {}
        self.unconfirmed: dict[_Key, _Version] = {}
        """Objects known before the current list and not yet found in it."""

    def start_list(self) -> None:
        """Start a list, which delivers all objects again; a list under way is discarded."""
        self.unconfirmed |= self._known
        self._known = {}

    def end_list(self) -> list[Any]:
        """The known objects that the list did not contain."""
        vanished = [self._stub(key, uid) for key, (uid, _) in self.unconfirmed.items()]
        self.unconfirmed = {}
        return vanished

    def note(self, meta: ObjectMeta) -> Any | None:
        """Record an object. Returns an object of the same name and another uid that it replaces."""
        key = (intern(meta.namespace), meta.name)
        old = self._known.get(key) or self.unconfirmed.pop(key, None)
        self._known[key] = (meta.uid, meta.resource_version)
        return self._stub(key, old[0]) if old is not None and old[0] != meta.uid else None

    def confirm(self, meta: ObjectMeta) -> bool:
        """Whether a list contains an object as the sink has it, so that it need not be delivered again."""
        key = (meta.namespace, meta.name)
        old = self.unconfirmed.get(key)
        if old is None or not meta.resource_version or old != (meta.uid, meta.resource_version):
            return False
        self._known[key] = self.unconfirmed.pop(key)
        return True

    def forget(self, meta: ObjectMeta) -> None:
        self._known.pop((meta.namespace, meta.name), None)

    def _stub(self, key: _Key, uid: str) -> Any:
        namespace, name = key
        return self._struct(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))
