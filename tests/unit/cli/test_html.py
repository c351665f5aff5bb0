"""`-o html`: one page that needs nothing else."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli.main import cli

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


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ("explain b", 3, "Insufficient cpu"),
        ("explain a", 0, "ant"),
        ("explain", 3, "default/b"),
        ("why-not b ant", 3, "NodeResourcesFit"),
        ("what-if --drain ant", 0, "What if"),
        ("what-if --fit b", 3, "How many more fit"),
    ],
)
def test_pages(arguments: str, status: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    command, *rest = arguments.split()
    result = CliRunner().invoke(cli, [command, "-f", str(tmp_path / "cluster.yaml"), *rest, "-o", "html"])
    assert result.exit_code == status, result.output
    page = result.stdout
    assert page.startswith("<!doctype html>")
    assert text in page
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert checker.names.isdisjoint({"script", "link", "img", "src", "href", "onclick", "iframe"})
