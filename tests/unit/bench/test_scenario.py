import re
from importlib.resources import files

import msgspec
import pytest

from stowplan.api import KINDS, DecodeError, codec
from stowplan.bench import scenario as module
from stowplan.bench.object_series import pods
from stowplan.bench.scenario import NAMES, Scenario, load_scenario
from stowplan.errors import InputError

FLOORS = {
    "basic": 20000,
    "service": 3000,
    "spread": 10000,
    "affinity": 10000,
    "antiaffinity": 15000,
    "templates": 4000,
    "unique": 1500,
    "unique-rich": None,
    "preemption": 300,
    "preemption-unique": 150,
    "user-plugin": 15000,
    "loop": None,
    "scaling": None,
    "memory": None,
}


def test_every_file_is_a_scenario_and_the_other_way_round() -> None:
    found = {item.name.removesuffix(".yaml") for item in files("stowplan.bench").joinpath("scenarios").iterdir()}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scenario_is_sound(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.about.endswith(".")
    assert scenario.floor == FLOORS[name]
    assert scenario.nodes == ((1000, 20000) if name == "scaling" else (5000,))
    for item in scenario.objects:
        codec.convert(KINDS[item["kind"]].struct, item)
    series = [scenario.incoming] + ([scenario.running] if scenario.running else [])
    for one in series:
        assert len(list(pods(one, 3))) == 3


@pytest.mark.parametrize("name", NAMES)
def test_as_many_templates_as_promised(name: str) -> None:
    series = load_scenario(name).incoming
    made = pods(series, 2 * (series.templates or 700))
    specs = {msgspec.json.encode((pod.metadata.labels, _lean(pod.spec))) for pod in made}
    assert len(specs) == (series.templates or 1400)


@pytest.mark.parametrize("part", ["tolerations", "affinity", "containers"])
def test_templates_share_neither_requests_nor_tolerations_nor_affinity_nor_images(part: str) -> None:
    made = list(pods(load_scenario("templates").incoming, 1000))
    assert len({msgspec.json.encode(getattr(pod.spec, part)) for pod in made}) == 1000
    assert len({tuple(str(c.resources.requests) for c in pod.spec.containers) for pod in made}) == 1000


def test_a_scenario_like_another_changes_what_it_says_and_keeps_the_rest() -> None:
    templates, unique = load_scenario("templates"), load_scenario("unique-rich")
    assert unique.cluster == templates.cluster
    assert unique.incoming.pod == templates.incoming.pod
    assert (templates.incoming.templates, unique.incoming.templates) == (1000, 0)


def test_an_unknown_scenario_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(InputError, match=re.escape(f"no scenario 'nonsense'; there are {', '.join(NAMES)}")):
        load_scenario("nonsense")


def test_a_misspelt_field_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_yaml", lambda path: {"about": "x", "pods": 1, "floors": 3})
    load_scenario.cache_clear()
    with pytest.raises(DecodeError, match="floors"):
        load_scenario("basic")
    load_scenario.cache_clear()


def test_kind_of_a_pod() -> None:
    scenario = Scenario(name="x", about="", pods=1, incoming=module.PodSeries(templates=3))
    assert [scenario.incoming.kind_of(number) for number in range(5)] == [0, 1, 2, 0, 1]
    assert [module.PodSeries(templates=0).kind_of(number) for number in range(3)] == [0, 1, 2]


def _lean(spec: object) -> object:
    """Without the token volume, the name of which is another in each pod."""
    return msgspec.structs.replace(spec, volumes=())  # type: ignore[type-var]
