"""The objects that a reflector has delivered, by name, to find those that vanished between watches.

Upstream: k8s.io/client-go/tools/cache/delta_fifo.go (Replace)
"""

from sys import intern
from typing import Any

from stowplan.api.kinds import Kind
from stowplan.api.meta import ObjectMeta

_Key = tuple[str, str]


class KnownObjects:
    """Namespaces, names and uids of the objects that the sink has."""

    def __init__(self, kind: Kind) -> None:
        self._struct: Any = kind.struct
        self._known: dict[_Key, str] = {}
        self._unconfirmed: dict[_Key, str] = {}
        """Objects known before the current list and not yet found in it."""

    def start_list(self) -> None:
        """Start a list, which delivers all objects again; a list under way is discarded."""
        self._unconfirmed |= self._known
        self._known = {}

    def end_list(self) -> list[Any]:
        """The known objects that the list did not contain."""
        vanished = [self._stub(key, uid) for key, uid in self._unconfirmed.items()]
        self._unconfirmed = {}
        return vanished

    def note(self, meta: ObjectMeta) -> Any | None:
        """Record an object. Returns an object of the same name and another uid that it replaces."""
        key = (intern(meta.namespace), meta.name)
        old = self._known.get(key) or self._unconfirmed.pop(key, None)
        self._known[key] = meta.uid
        return self._stub(key, old) if old is not None and old != meta.uid else None

    def forget(self, meta: ObjectMeta) -> None:
        self._known.pop((meta.namespace, meta.name), None)

    def _stub(self, key: _Key, uid: str) -> Any:
        namespace, name = key
        return self._struct(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))
