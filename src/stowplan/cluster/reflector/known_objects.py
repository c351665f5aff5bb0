"""What a feed has told of, by name only: enough to find out what has vanished while it did not watch."""

from sys import intern
from typing import Any

from stowplan.api.kinds import Kind
from stowplan.api.meta import ObjectMeta

_Key = tuple[str, str]


class KnownObjects:
    """The objects that a sink knows of: their namespaces, names and uids."""

    def __init__(self, kind: Kind) -> None:
        self._struct: Any = kind.struct
        self._known: dict[_Key, str] = {}
        self._unconfirmed: dict[_Key, str] = {}
        """Those known before the list that is under way, and not yet found in it."""

    def start_list(self) -> None:
        """From now on all objects are told again. A list that was under way is off."""
        self._unconfirmed |= self._known
        self._known = {}

    def end_list(self) -> list[Any]:
        """The objects that the list did not contain, as far as they are known."""
        vanished = [self._stub(key, uid) for key, uid in self._unconfirmed.items()]
        self._unconfirmed = {}
        return vanished

    def note(self, meta: ObjectMeta) -> Any | None:
        """Remember an object; the one of the same name that it has taken the place of, if that is news."""
        key = (intern(meta.namespace), meta.name)
        old = self._known.get(key) or self._unconfirmed.pop(key, None)
        self._known[key] = meta.uid
        return self._stub(key, old) if old is not None and old != meta.uid else None

    def forget(self, meta: ObjectMeta) -> None:
        self._known.pop((meta.namespace, meta.name), None)

    def _stub(self, key: _Key, uid: str) -> Any:
        namespace, name = key
        return self._struct(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))
