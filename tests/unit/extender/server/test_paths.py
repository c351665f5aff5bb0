import pytest

from stowplan.errors import ConfigError
from stowplan.extender.server.paths import Paths


@pytest.mark.parametrize(
    ("path", "verb"),
    [
        ("/filter", "filter"),
        ("//filter", "filter"),
        ("/filter/", "filter"),
        ("/v1/filter", "filter"),
        ("/prioritize", "prioritize"),
        ("/bind", "bind"),
        ("/preempt", "preempt"),
        ("/Filter", None),
        ("/v2/filter", None),
        ("/filter/v1", None),
        ("/", None),
    ],
)
def test_usual_paths(path: str, verb: str | None) -> None:
    assert Paths(names={"bind": "bind"}).find(path) == verb


def test_binding_is_off_unless_named() -> None:
    assert Paths().find("/bind") is None
    assert "bind" not in Paths().by_verb


@pytest.mark.parametrize(
    ("prefix", "name", "path"),
    [
        ("/api/scheduler", "prioritize", "/api/scheduler/prioritize"),
        ("api/scheduler/", "/priority/", "/api/scheduler//priority"),
        ("/x", "predicates/mine", "/x/predicates/mine"),
        ("/x", "predicates/mine", "/x/v1/predicates/mine"),
        ("", "priority", "/priority"),
    ],
)
def test_free_names(prefix: str, name: str, path: str) -> None:
    assert Paths(prefix, {"prioritize": name}).find(path) == "prioritize"


def test_a_verb_that_is_switched_off() -> None:
    paths = Paths("/x", {"bind": "", "preempt": ""})
    assert paths.find("/x/bind") is None
    assert paths.listing() == "/x/filter (filter), /x/prioritize (prioritize)"


@pytest.mark.parametrize(
    ("prefix", "names", "message"),
    [
        ("", {"prioritize": "filter"}, "/filter: the verbs filter and prioritize have the same path"),
        ("", {"prioritize": "v1/filter"}, "/v1/filter: the verbs filter and prioritize have the same path"),
        ("/a b", {}, "the URL prefix: '/a b': a path has no room for such characters"),
        ("", {"bind": "bind?x=1"}, "the name of the bind verb: 'bind?x=1': a path has no room for such characters"),
        ("/a/../b", {}, "the URL prefix: '/a/../b': a path may not lead upwards"),
        (
            "",
            {"filter": "", "prioritize": "", "bind": "", "preempt": ""},
            "all verbs are switched off: name at least one",
        ),
    ],
)
def test_names_that_cannot_be(prefix: str, names: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Paths(prefix, names)
    assert str(caught.value) == message
