from stowplan import api
from stowplan.cache import Store, key_of
from stowplan.cache.stores import Stores


def service(name: str, namespace: str = "ns") -> api.Service:
    return api.Service(metadata=api.ObjectMeta(name=name, namespace=namespace))


def test_keys() -> None:
    assert key_of(api.ObjectMeta(name="a", namespace="ns")) == "ns/a"
    assert key_of(api.ObjectMeta(name="a")) == "a"


def test_objects_by_name_and_namespace() -> None:
    store: Store[api.Service] = Store()
    store.put(service("a"))
    store.put(service("a", "other"))
    assert len(store) == 2
    assert store.get("a", "ns") == service("a")
    assert store.get("a") is None
    assert {item.metadata.namespace for item in store} == {"ns", "other"}
    assert set(store.items()) == {"ns/a", "other/a"}


def test_every_change_is_a_new_version() -> None:
    store: Store[api.Service] = Store()
    versions = [store.version]
    store.put(service("a"))
    versions.append(store.version)
    store.put(service("a"))
    versions.append(store.version)
    store.remove("ns/a")
    versions.append(store.version)
    assert sorted(set(versions)) == versions
    assert store.get("a", "ns") is None
    store.remove("ns/a")


def test_changes_are_told() -> None:
    store: Store[api.Service] = Store()
    told: list[tuple[api.Service | None, api.Service | None]] = []
    store.put(service("before"))
    store.listen(lambda old, new: told.append((old, new)))
    first, second = service("a"), service("a")
    store.put(first)
    store.put(second)
    store.remove("ns/a")
    store.remove("ns/a")
    assert told == [(None, first), (first, second), (second, None)]


def test_one_store_for_each_kind() -> None:
    stores = Stores()
    assert stores.of(api.Service) is stores.of(api.Service)
    assert stores.of(api.Service) is not stores.of(api.Namespace)
