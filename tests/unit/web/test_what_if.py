"""What-if on the page: one question at a time, on a copy, with a time limit; and the timeline's answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from tests.builders.objects import node
from tests.unit.web.pages import Browser, Reply, shown

from stowplan.web.what_if import ChangeOption, RunMaps, WhatIfHost, WhatIfResult, WhatIfRuns

POST = {"Content_Type": "application/json", "Sec_Fetch_Site": "same-origin"}
REQUESTS = {"cpu": "1500m"}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 5,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": REQUESTS}}]},
        },
    },
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    nodes = [{"apiVersion": "v1", "kind": "Node", **node(name, cpu=4, zone="z")} for name in ("a", "b", "c")]
    with shown(tmp_path_factory.mktemp("what-if"), *nodes, WEB) as browser:
        yield browser


def ask(page: Browser, *changes: tuple[str, list[str]]) -> Reply:
    body = {"changes": [{"option": option, "value": value} for option, value in changes]}
    return page.send("POST", "/api/v1/what-if", json.dumps(body).encode(), **POST)


def finished(page: Browser, reply: Reply) -> Any:
    assert reply.status == 200, reply.body
    deadline = time.monotonic() + 60
    while (run := page.data(f"run/{reply.json['id']}"))["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return run


def test_a_drain_round_trip(page: Browser) -> None:
    before = page.data("map")["nodes"]
    run = finished(page, ask(page, ("drain", ["a"])))
    assert run["state"] == "done", run["message"]
    assert run["sentence"].startswith("Without node a: ")
    assert run["sentence"] == run["answer"]["sentence"]
    assert run["command"].startswith("stowplan what-if -f ")
    assert run["command"].endswith(" --drain a")
    assert any("WORKLOAD" in line for line in run["text"])
    maps = page.data(f"run/{run['id']}/maps")
    assert maps["before"]["nodes"]["name"] == ["a", "b", "c"]
    assert [name for name in maps["after"]["nodes"]["name"] if name] == ["b", "c"]
    assert page.data("map")["nodes"] == before, "the state that is shown stays as it is"
    kept = page.data("compare")
    assert [each["sentence"] for each in kept if each["id"] == run["id"]] == [run["sentence"]]


def pending_over_time(history: Any) -> list[int]:
    return [sum(counts) for counts in zip(*history["queues"].values(), strict=True)]


def test_both_runs_have_a_timeline_by_attempts(page: Browser) -> None:
    for change in (("set", ["shop/Deployment/web", "cpu=3"]), ("again", ["all"])):
        run = finished(page, ask(page, change))
        maps = page.data(f"run/{run['id']}/maps")
        without, with_changes = maps["histories"]
        assert maps["unit"] == "attempts"
        assert pending_over_time(without) == [0]
        pending = pending_over_time(with_changes)
        assert pending[0] == 5
        assert pending[-1] == run["answer"]["after"]["pending"]
        assert with_changes["time"] == sorted(with_changes["time"])


def test_several_changes(page: Browser) -> None:
    run = finished(page, ask(page, ("add", ["2", "a"]), ("scale", ["shop/Deployment/web=10"])))
    assert run["answer"]["newNodes"] == 2
    assert run["answer"]["after"]["placed"] == 10
    assert run["command"].endswith(" --add 2 --like a --scale shop/Deployment/web=10")


def test_other_requests_and_weights(page: Browser) -> None:
    run = finished(page, ask(page, ("set", ["shop/Deployment/web", "cpu=3"])))
    assert run["answer"]["after"]["pending"] == 2
    run = finished(page, ask(page, ("weight", ["NodeResourcesFit=9"]), ("again", ["all"])))
    assert run["answer"]["placedAgain"] == 5


def test_pasted_manifests(page: Browser) -> None:
    more = {**WEB, "metadata": {"name": "more", "namespace": "shop"}}
    run = finished(page, ask(page, ("cordon", ["a"]), ("apply", [yaml.safe_dump(more)])))
    assert (run["state"], run["message"]) == ("done", "")
    assert "with the pasted manifests applied" in run["sentence"]
    assert run["answer"]["asked"]["workloads"] == ["shop/Deployment/more"]
    assert run["command"].endswith(" --cordon a -f -")
    assert finished(page, ask(page, ("apply", ["kind: ["])))["state"] == "failed"
    twice = ask(page, ("apply", ["a"]), ("apply", ["b"]))
    assert (twice.status, "pasted once" in twice.json["message"]) == (400, True)


def test_the_commands_answer_is_the_same(page: Browser, tmp_path: Any) -> None:
    import shlex

    from click.testing import CliRunner

    from stowplan.cli.main import cli

    run = finished(page, ask(page, ("drain", ["a"])))
    result = CliRunner().invoke(cli, [*shlex.split(run["command"])[1:], "-o", "json"])
    assert json.loads(result.stdout) == run["answer"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Input data was truncated"),
        (b"{}", "missing required field `changes`"),
        (b'{"changes": []}', "1 to 32 changes"),
        (b'{"changes": [{"option": "rm", "value": ["x"]}]}', "rm: not a change"),
        (b'{"changes": [{"option": "drain", "value": []}]}', "not the values"),
        (b'{"changes": [{"option": "add", "value": ["many", "a"]}]}', "a number of at least 1"),
        (b'{"changes": [{"option": "set", "value": ["web", "cpu"]}]}', "RESOURCE=QUANTITY"),
    ],
)
def test_invalid_questions(page: Browser, body: bytes, text: str) -> None:
    reply = page.send("POST", "/api/v1/what-if", body, **POST)
    assert reply.status == 400
    assert text in reply.json["message"]


def test_unknown_objects_fail_with_a_sentence(page: Browser) -> None:
    run = finished(page, ask(page, ("drain", ["zebra"])))
    assert run["state"] == "failed"
    assert "zebra is not known" in run["message"]


def test_posts_need_json_the_cookie_and_this_origin(page: Browser) -> None:
    body = json.dumps({"changes": [{"option": "drain", "value": ["a"]}]}).encode()
    assert page.send("POST", "/api/v1/what-if", body, Content_Type="text/plain").status == 415
    other = {**POST, "Sec_Fetch_Site": "cross-site"}
    assert page.send("POST", "/api/v1/what-if", body, **other).status == 403
    assert page.send("POST", "/api/v1/what-if", body, login=False, **POST).status == 401
    assert page.get("/api/v1/what-if").status == 405


def test_runs_that_do_not_exist(page: Browser) -> None:
    assert page.get("/api/v1/run/77").status == 404
    assert page.get("/api/v1/run/77/maps").status == 404


def test_events_of_the_run(page: Browser) -> None:
    events = page.data("run/events")
    assert events["unit"] == "attempts"
    assert (events["end"], events["total"], events["plays"]) == (5.0, len(events["kind"]), False)
    assert sorted(events["nodes"]) == ["a", "b", "c"]
    assert events["kind"].count(0) == 5
    assert len(page.data("pods?names")["suffix"]) == 5
    history = page.data("history")
    assert history["time"][0] == 0.0
    assert {"run", "history", "what-if", "compare"} <= set(page.data("hello")["features"])


class SlowHost(WhatIfHost):
    """Computes until it is told to stop, or until its time is over."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def check(self, changes: list[ChangeOption]) -> None:
        pass

    def command(self, changes: list[ChangeOption]) -> str:
        return "stowplan what-if"

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        while not self.go_on.wait(0.005):
            on_step()
        return WhatIfResult("done", None, (), RunMaps(before=None, after=None))


class BrokenHost(SlowHost):
    """Has a bug."""

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        raise ZeroDivisionError("secret")


def test_a_bug_ends_the_run(page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.source, "what_if", WhatIfRuns(BrokenHost()))
    run = finished(page, ask(page, ("drain", ["a"])))
    assert (run["state"], "secret" in run["message"]) == ("failed", False)


def test_one_run_at_a_time_and_a_time_limit(page: Browser) -> None:
    host, kept = SlowHost(), page.source.what_if
    page.source.what_if = WhatIfRuns(host, time_limit=0.3)
    try:
        first = ask(page, ("drain", ["a"]))
        second = ask(page, ("drain", ["a"]))
        assert second.status == 503
        assert "another what-if" in second.json["message"]
        run = finished(page, first)
        assert (run["state"], run["message"]) == ("failed", "the run takes longer than 0.3 s; use the command line")
        host.go_on.set()
        assert finished(page, ask(page, ("drain", ["a"])))["state"] == "done"
    finally:
        page.source.what_if = kept
