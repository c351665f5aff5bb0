"""`-o html`: one file that needs nothing else."""

from __future__ import annotations

import asyncio
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.web.test_report import contents

from stowplan.cli.main import cli
from stowplan.cli.web_recording import add_recorded_pages, compared, read_recording
from stowplan.serving.pages import PageRequest, Pages

CLUSTER = """
{kind: Node, metadata: {name: ant}, status: {allocatable: {cpu: "1", memory: 4Gi, pods: "10"}}}
---
kind: Pod
metadata: {name: a}
spec: {nodeName: ant, containers: [{name: m, image: m, resources: {requests: {cpu: "1"}}}]}
---
{kind: Pod, metadata: {name: b}, spec: {containers: [{name: m, image: m, resources: {requests: {cpu: "1"}}}]}}
"""
VOID = {"meta"}


class Checker(HTMLParser):
    """Checks that every element is closed, and collects names of elements and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def run(arguments: str, folder: Path) -> Result:
    (folder / "cluster.yaml").write_text(CLUSTER)
    command, *rest = arguments.replace("-f cluster.yaml", f"-f {folder / 'cluster.yaml'}").split()
    return CliRunner().invoke(cli, [command, "-f", str(folder / "cluster.yaml"), *rest, "-o", "html"])


def test_answers_without_views(tmp_path: Path) -> None:
    result = run("why-not b ant", tmp_path)
    assert result.exit_code == 3, result.output
    page = result.stdout
    assert page.startswith("<!doctype html>")
    assert "NodeResourcesFit" in page
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert checker.names.isdisjoint({"script", "link", "img", "src", "href", "onclick", "iframe"})


@pytest.mark.parametrize(
    ("arguments", "status", "start", "path", "text"),
    [
        ("simulate", 3, "#/map", "pending", "1 CPU"),
        ("explain b", 3, "#/pod/default/b", "explain/default/b", "Insufficient cpu"),
        ("explain a", 0, "#/pod/default/a", "points/default/a", "default/a"),
        ("explain", 3, "#/pending", "pending", "default/b"),
        ("what-if --drain ant", 0, "#/what-if", "run/1", "Without node ant"),
        ("what-if --cordon ant -f cluster.yaml", 3, "#/what-if", "run/1", "cluster.yaml applied"),
        ("what-if --fit b", 3, "#/what-if", "run/1", "replicas"),
        ("diff default default", 0, "#/compare", "run/1", "No difference"),
    ],
)
def test_reports(arguments: str, status: int, start: str, path: str, text: str, tmp_path: Path) -> None:
    result = run(arguments, tmp_path)
    assert result.exit_code == status, result.output
    found = contents(result.stdout_bytes)
    assert found["start"] == start
    assert text in json.dumps(found["answers"][path])
    assert {"hello", "map", "pending"} <= found["answers"].keys()
    if arguments == "simulate":
        assert {"run/events", "history", "pods", "config", "queue", "node/ant", "fit/default/b"} <= found[
            "answers"
        ].keys()
        assert run(arguments, tmp_path).stdout_bytes == result.stdout_bytes


def test_an_anonymized_report_has_none_of_the_names(tmp_path: Path) -> None:
    manifests, file = tmp_path / "cluster.yaml", tmp_path / "secret-project.json"
    manifests.write_text(CLUSTER.replace("name: ant", "name: aardvark").replace("nodeName: ant", "nodeName: aardvark"))
    for command in (["snapshot", str(file), "-f", str(manifests)], ["simulate", "--from", str(file)]):
        result = CliRunner().invoke(cli, command + ([] if command[0] == "snapshot" else ["--anonymize", "-o", "html"]))
        assert result.exit_code in (0, 3), result.output
    found = contents(result.stdout_bytes)
    assert found["answers"]["hello"]["source"] == "anonymized snapshot"
    assert found["answers"]["hello"]["pending"] == 1
    text = json.dumps(found) + result.stdout.partition("</title>")[0]
    assert "aardvark" not in text
    assert "secret-project" not in text
    result = CliRunner().invoke(cli, ["simulate", "-f", str(manifests), "--anonymize"])
    assert result.exit_code == 2
    assert "--anonymize needs --from or --from-cluster" in result.output


def test_a_report_has_all_events_of_a_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.simulator.timeline.MAX_ANSWER_EVENTS", 3)
    answers = contents(run("simulate --sample", tmp_path).stdout_bytes)["answers"]
    total = answers["run/events"]["total"]
    assert total > 6
    assert {f"run/events?from={first}" for first in range(3, total, 3)} <= answers.keys()


def test_a_report_is_a_recording_for_the_page(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_bytes(run("simulate", tmp_path).stdout_bytes)
    pages, recorded = Pages(), read_recording(str(file))
    add_recorded_pages(pages, recorded)

    def get(path: str, **query: str) -> Any:
        request = PageRequest("GET", f"/api/v1/{path}", {name: [value] for name, value in query.items()})
        handler = pages.find_async(request.path)
        assert handler is not None
        page = asyncio.run(handler(request))
        return json.loads(page.content) if page.status == 200 else page.status

    hello = get("hello")
    assert (hello["kind"], hello["nodes"], "stream" in hello["features"]) == ("recording", 1, False)
    assert get("map")["nodes"]["name"][0] == "ant"
    assert set(get("pods", names="")["suffix"]) == {"default/a", "default/b"}
    (group,) = get("pending")["groups"]
    assert get(f"pending/{group['id']}", **{"from": "0", "count": "100"})["pods"] == 1
    assert get("explain/default/b")["pod"]["name"] == "b"
    assert get("explain/default/zebra") == 404


@pytest.mark.parametrize("content", [b"", b"<html>", b'<script type="text/plain" id="data">eA==</script>', b"\xff\xfe"])
def test_a_recording_that_is_none(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_bytes(content)
    result = CliRunner().invoke(cli, ["web", "--recording", str(file)])
    assert (result.exit_code, "is expected" in result.output) == (2, True)
    both = CliRunner().invoke(cli, ["web", "--recording", str(file), "-f", "x.yaml"])
    assert both.exit_code == 2


def test_two_recordings_are_compared(tmp_path: Path) -> None:
    files = []
    for name, options in (("one", "simulate"), ("two", "simulate --seed 1")):
        files.append(str(tmp_path / f"{name}.html"))
        Path(files[-1]).write_bytes(run(options, tmp_path).stdout_bytes)
    answers = {path: json.loads(answer) for path, answer in compared((files[0], files[1])).items()}
    assert "compare" in answers["hello"]["features"]
    assert [each["id"] for each in answers["compare"]] == ["1"]
    found = answers["run/1"]
    assert (found["before"], found["after"], found["answer"]["totalsAfter"]["placed"]) == ("one.html", "two.html", 1)
    maps = answers["run/1/maps"]
    assert maps["before"]["nodes"]["name"][0] == maps["after"]["nodes"]["name"][0] == "ant"
    assert len(maps["histories"]) == 2
