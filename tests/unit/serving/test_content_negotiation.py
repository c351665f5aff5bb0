import pytest

from stowplan.serving.content_negotiation import Chosen, NotAcceptableError, choose, encode

STRUCTURED = "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"


@pytest.mark.parametrize("accept", ["", "  ", "text/plain", "*/*", "text/html, */*;q=0.8", "text/*"])
def test_people_get_text(accept: str) -> None:
    assert choose(accept, "Statusz") is None


def test_programs_get_what_they_ask_for() -> None:
    assert choose(STRUCTURED, "Statusz") == Chosen("application/json", "v1beta1", "Statusz")
    assert choose(f"{STRUCTURED}, text/plain", "Statusz") is not None
    assert choose(STRUCTURED.replace("json", "yaml"), "Statusz") == Chosen("application/yaml", "v1beta1", "Statusz")


@pytest.mark.parametrize(
    "accept",
    ["application/json", "image/png", STRUCTURED.replace("v1beta1", "v7"), STRUCTURED.replace("Statusz", "Flagz")],
)
def test_what_there_is_not(accept: str) -> None:
    with pytest.raises(NotAcceptableError, match="only the following media types are accepted"):
        choose(accept, "Statusz")


def test_an_old_version_comes_with_a_warning() -> None:
    chosen = choose(STRUCTURED.replace("beta", "alpha"), "Statusz")
    assert chosen is not None
    assert "statusz endpoint is deprecated" in chosen.headers["Warning"]


def test_encoding() -> None:
    assert encode(Chosen("application/json", "v1beta1", "X"), {"a": ("b",)}) == b'{"a":["b"]}'
    assert encode(Chosen("application/yaml", "v1beta1", "X"), {"a": ("b",)}) == b"a:\n- b\n"
