import pytest
from tests.builders import Json, World, container, node, pod

from stowplan.framework import CycleState
from stowplan.plugins.image_locality import normalized_image_name

NAME = "ImageLocality"
MB = 1 << 20


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("registry:5000/app:1", "registry:5000/app:1"),
        ("app@sha256:abc", "app@sha256:abc"),
        ("", ":latest"),
    ],
)
def test_names_get_a_tag(name: str, expected: str) -> None:
    assert normalized_image_name(name) == expected


def holding(name: str, **images: int) -> Json:
    return node(name, images=[{"names": [f"{image}:1"], "sizeBytes": size} for image, size in images.items()])


def scores(world: World, item: Json) -> list[int]:
    plugin, newcomer, nodes = world.plugin(NAME), world.pod(item), world.cluster.nodes.everything()
    vector = plugin.score_nodes(CycleState(), newcomer, nodes).tolist()
    assert [plugin.score(CycleState(), newcomer, info) for _, info in nodes.infos()] == vector
    return vector  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("images", "containers", "expected"),
    [
        ([{"a": 40 * MB}, {}], ["a:1"], [0, 0]),  # 20 MB, scaled, are below the threshold
        ([{"a": 250 * MB}, {}], ["a:1"], [10, 0]),
        ([{"a": 250 * MB}, {"a": 250 * MB}], ["a:1"], [23, 23]),
        ([{"a": 4000 * MB}, {}], ["a:1"], [100, 0]),
        ([{"a": 300 * MB, "b": 500 * MB}, {"a": 300 * MB}], ["a:1", "b:1"], [26, 14]),
        ([{"a": 1000 * MB}, {}], ["a:1", "a:1"], [49, 0]),
        ([{"a": 250 * MB}, {}], ["other:1"], [0, 0]),
    ],
)
def test_megabytes_that_need_not_be_pulled(
    images: list[dict[str, int]], containers: list[str], expected: list[int]
) -> None:
    world = World([holding(f"n{i}", **held) for i, held in enumerate(images)])
    item = pod("p", containers=[container(f"c{i}", image) for i, image in enumerate(containers)])
    assert scores(world, item) == expected


def test_init_containers_and_image_volumes_count() -> None:
    world = World([holding("n", a=500 * MB, b=500 * MB), node("m")])
    plain = pod("p", containers=[container(image="a:1")])
    init = pod("p", containers=[container(image="a:1")], initContainers=[container("i", "b:1")])
    volume = pod("p", containers=[container(image="a:1")], volumes=[{"name": "v", "image": {"reference": "b:1"}}])
    assert [scores(world, item)[0] for item in (plain, init, volume)] == [23, 24, 48]


def test_the_number_of_nodes_matters() -> None:
    world = World([holding("n", a=1000 * MB)])
    item = pod("p", containers=[container(image="a:1")])
    assert scores(world, item) == [100]
    world.put_node(node("m"))
    assert scores(world, item) == [48, 0]
    for _ in range(3):
        assert world.decide(item).node_name == "n"
    world.cluster.remove_node("n")
    assert world.decide(item).node_name == "m"


def test_pods_without_containers_are_of_no_concern() -> None:
    world = World()
    assert not world.plugin(NAME).concerns(world.pod(pod("p", containers=[])).template)
    assert world.plugin(NAME).concerns(world.pod(pod("p")).template)
