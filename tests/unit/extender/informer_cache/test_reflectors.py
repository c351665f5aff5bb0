import asyncio
from typing import Any

import pytest

from stowplan import api
from stowplan.api.kinds import KINDS
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.extender.informer_cache import InformerCache, InformerReflectors, reflectors


class Reflector:
    """Tells of one node, and then waits or fails."""

    made: list[tuple[str, dict[str, Any]]]
    fails = False

    def __init__(self, client: Any, kind: Any, sink: Any, **options: Any) -> None:
        self._kind, self._sink = kind, sink
        self.made.append((kind.name, options))

    async def run(self) -> None:
        if self._kind is KINDS["Node"]:
            node = api.Node(metadata=api.ObjectMeta(name="n1"))
            self._sink.put(self._kind, [(node, None), (api.Node(metadata=api.ObjectMeta(name="n2")), None)])
            self._sink.removed(self._kind, [node])
        self._sink.synced(self._kind)
        if self.fails:
            raise RuntimeError("a bug")
        await asyncio.sleep(60)


@pytest.mark.parametrize("fails", [False, True])
def test_what_feeds_tell_gets_into_the_mirror(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    Reflector.made, Reflector.fails = [], fails
    monkeypatch.setattr(reflectors, "Reflector", Reflector)
    kinds = ("Node", "PersistentVolumeClaim", "Pod")
    cache = InformerCache(kinds)

    async def run() -> str | None:
        connection = Connection("http://127.0.0.1:1", StoredCredentials())
        feeds = InformerReflectors(connection, cache, kinds, keep_objects=True)
        feeds.start()
        await asyncio.sleep(0.01)
        problem = feeds.problem()
        await feeds.stop()
        return problem

    problem = asyncio.run(run())
    assert (problem == "the reflector of persistentvolumeclaims ended: RuntimeError('a bug')") == fails
    assert [info.name for info in cache.cluster.nodes] == ["n2"]
    assert cache.has_synced
    options = dict(Reflector.made)
    assert list(options) == ["PersistentVolumeClaim", "Node", "Pod"]
    assert [options[kind]["required"] for kind in options] == [False, True, True]
    assert [options[kind]["keep_objects"] for kind in options] == [False, True, True]
    assert "status.phase!=Succeeded" in options["Pod"]["field_selector"]
