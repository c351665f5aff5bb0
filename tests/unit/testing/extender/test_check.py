"""The checks find what is wrong with an extender, and nothing with one that is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from tests.builders import Json
from tests.extenders import WebExtender

from stowplan.testing.extender import check_extender, mutations, sample_nodes, sample_pod
from stowplan.testing.extender.__main__ import main

VERBS = {"filter_verb": "filter", "prioritize_verb": "prioritize", "preempt_verb": "preempt", "bind_verb": "bind"}


def guarded(answer: Callable[[Json], Any]) -> Callable[[Any], Any]:
    """Takes any case of keys, and refuses what it cannot read."""

    def handle(request: Any) -> Any:
        try:
            return answer({key.lower(): value for key, value in request.items()})
        except (AttributeError, KeyError, TypeError, ValueError):
            return 400, b"{}"

    return handle


def names_in(request: Json) -> list[str]:
    if request.get("nodenames") is not None:
        return [str(name) for name in request["nodenames"]]
    return [item["metadata"]["name"] for item in request["nodes"]["items"]]


def keep(request: Json) -> Json:
    if request.get("nodenames") is not None:
        return {"NodeNames": names_in(request)[:2], "FailedNodes": dict.fromkeys(names_in(request)[2:], "no licence")}
    items = request["nodes"]["items"]
    return {"Nodes": {"items": items[:2]}, "FailedNodes": dict.fromkeys(names_in(request)[2:], "no licence")}


def score(request: Json) -> Any:
    return [{"Host": name, "Score": 5} for name in names_in(request)]


def echo(request: Json) -> Json:
    if request.get("nodenametometavictims") is not None:
        return {"NodeNameToMetaVictims": request["nodenametometavictims"]}
    told = {
        node: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
        for node, victims in request["nodenametovictims"].items()
    }
    return {"NodeNameToMetaVictims": told}


GOOD: dict[str, Callable[[Json], Any]] = {
    "filter": keep,
    "prioritize": score,
    "preempt": echo,
    "bind": lambda request: {"Error": f"no pod {request['podname']}"},
}


def serving(**changes: Callable[[Json], Any]) -> WebExtender:
    verbs = {**GOOD, **changes}
    return WebExtender({f"{v}/{verb}": guarded(answer) for v in ("", "/v1") for verb, answer in verbs.items()})


def test_nothing_is_wrong_with_a_good_one() -> None:
    with serving() as server:
        assert check_extender(server.prefix, **VERBS, fuzz=33) == []


def without_errors(request: Json) -> Any:
    return 500, b'{"Error":"x"}'


FAULTS: dict[str, tuple[str, Callable[[Json], Any], str]] = {
    "floats": ("prioritize", lambda r: [{"Host": n, "Score": 7.0} for n in names_in(r)], "kube-scheduler ignores"),
    "an object": ("prioritize", lambda r: {"Error": "x"}, "cannot unmarshal object"),
    "out of range": ("prioritize", lambda r: [{"Host": n, "Score": 50} for n in names_in(r)], "outside 0 to 10"),
    "negative": ("prioritize", lambda r: [{"Host": n, "Score": -1} for n in names_in(r)], "outside 0 to 10"),
    "twice": ("prioritize", lambda r: [{"Host": n, "Score": 1} for n in names_in(r) * 2], "two scores"),
    "strangers": ("prioritize", lambda r: [{"Host": "x", "Score": 1}], "not in the request"),
    "no scores": ("prioritize", lambda r: None, "no node has a score"),
    "a list for nodes": ("filter", lambda r: {"Nodes": [], "NodeNames": []}, "cannot unmarshal array"),
    "unknown": ("filter", lambda r: {"NodeNames": ["x"], "Nodes": {"items": [{"metadata": {"name": "x"}}]}}, '"x"'),
    "no reasons": ("filter", lambda r: {"NodeNames": [], "Nodes": {"items": []}}, "without a reason"),
    "names in reasons": ("filter", lambda r: {"FailedNodes": {n: f"{n} is full" for n in names_in(r)}}, "names a node"),
    "an altered node": (
        "filter",
        lambda r: {**keep(r), "Nodes": {"items": [{"metadata": {"name": n}} for n in names_in(r)]}},
        "differs from the one in the request",
    ),
    "an error status": ("filter", without_errors, "code 500"),
    "null victims": ("preempt", lambda r: {"NodeNameToMetaVictims": {"node-0": None}}, "nil pointer"),
    "a reason that is not reported": ("bind", without_errors, "does not reach the pod's event"),
    "bound without a body": ("bind", lambda r: (200, b""), "does not reach the pod's event: EOF"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str) -> None:
    verb, answer, told = FAULTS[fault]
    with serving(**{verb: answer}) as server:
        findings = check_extender(server.prefix, **VERBS)
    assert any(told in str(finding) for finding in findings), findings
    assert {finding.verb for finding in findings} == {verb}


def test_what_comes_after_a_reply_is_nobodys_business() -> None:
    with serving(filter=lambda request: (200, json.dumps(keep(request)).encode() + b"\n{")) as server:
        assert check_extender(server.prefix, **VERBS) == []


def test_nodes_that_are_null() -> None:
    with serving(filter=lambda request: {"Nodes": {"items": [None, {"metadata": None}]}}) as server:
        findings = check_extender(server.prefix, filter_verb="filter", node_cache_capable=False)
    assert any('node "" is not in the request' in str(finding) for finding in findings)


def test_one_that_is_case_sensitive() -> None:
    with WebExtender({"/filter": lambda request: {"NodeNames": request["NodeNames"]}}) as server:
        findings = check_extender(server.prefix, filter_verb="filter", node_cache_capable=True, releases=["v1.36"])
    assert [finding.text.partition(":")[0] for finding in findings] == ["keys in lower case"]


def test_one_that_falls_over() -> None:
    with WebExtender({"/filter": lambda request: keep({k.lower(): v for k, v in request.items()})}) as server:
        findings = check_extender(server.prefix, filter_verb="filter", releases=["v1.36"], fuzz=33)
    assert any("no reply" in finding.text for finding in findings)


def test_mutations_are_as_many_as_asked_for_and_the_same_for_a_seed() -> None:
    request = {"Pod": sample_pod(), "Nodes": {"items": sample_nodes()}, "NodeNames": None}
    first = list(mutations(request, 50, seed=1))
    assert len(first) == 50
    assert first == list(mutations(request, 50, seed=1))
    assert first != list(mutations(request, 50, seed=2))
    assert len({kind for kind, _ in first}) == 11


def test_command() -> None:
    run = CliRunner().invoke
    with serving(prioritize=lambda request: [{"Host": "x", "Score": 1.5}]) as server:
        assert run(main, [server.prefix]).exit_code == 2
        good = run(main, [server.prefix, "--filter-verb", "filter", "--release", "v1.36", "--fuzz", "11"])
        assert (good.exit_code, good.output) == (0, "no problems\n")
        bad = run(main, [server.prefix, "--prioritize-verb", "prioritize", "-o", "json", "--full-nodes"])
        assert bad.exit_code == 1
        assert all(json.loads(line)["verb"] == "prioritize" for line in bad.output.splitlines())
