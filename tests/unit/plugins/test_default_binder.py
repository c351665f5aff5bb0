from types import SimpleNamespace
from typing import Any, cast

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Code, CycleState, implements
from stowplan.plugins.default_binder import DefaultBinder


def test_without_a_cluster_there_is_nothing_to_bind_with() -> None:
    cluster = Cluster()
    pod = cluster.pod(api.Pod(metadata=api.ObjectMeta(name="p", namespace="ns")))
    plugin = DefaultBinder(None, cast(Any, SimpleNamespace(cluster=cluster)))
    status = plugin.bind(CycleState(), pod, "n1")
    assert status.code is Code.Error
    assert status.message == "binding pod ns/p to node n1 needs a connection to a cluster"


def test_it_binds_and_nothing_else() -> None:
    assert implements(DefaultBinder, "bind")
    assert not implements(DefaultBinder, "pre_bind")
