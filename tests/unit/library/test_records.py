"""Records: sequences that convert to data frames and show themselves as tables."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from tests.builders.manifests import pod_manifest

from stowplan import Cluster, Records
from stowplan.framework.decision_record import Record
from stowplan.library import MissingPackageError
from stowplan.library.answer_html import answer_page

NODE = {"kind": "Node", "metadata": {"name": "ant"}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}}


class Row(Record, frozen=True):
    name: str
    sizes: dict[str, int] = {}  # noqa: RUF012
    parts: tuple[str, ...] = ()


ROWS = Records([Row("a", {"cpu": 1}), Row("<b>", {"memory": 2}, ("x", "y"))])


def test_sequence() -> None:
    assert len(ROWS) == 2
    assert ROWS[0].name == "a"
    assert [row.name for row in ROWS[1:]] == ["<b>"]
    assert Records([1]) == Records((1,)) != Records([2])
    assert hash(Records([1])) == hash(Records([1]))
    assert repr(Records(range(100))) == "<100 records>"


def test_rows_are_flat() -> None:
    assert ROWS.rows() == [
        {"name": "a", "sizes.cpu": 1, "parts": []},
        {"name": "<b>", "sizes.memory": 2, "parts": ["x", "y"]},
    ]


def test_html_is_escaped() -> None:
    shown = ROWS._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "x, y" in shown
    assert "and 80 more" in Records([Row(str(n)) for n in range(100)])._repr_html_()


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_conversions_name_the_missing_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    convert = {"pandas": ROWS.to_pandas, "polars": ROWS.to_polars, "pyarrow": ROWS.to_arrow}[package]
    with pytest.raises(
        MissingPackageError, match=rf"^this conversion needs the package {package}: pip install {package}$"
    ):
        convert()


def test_conversions_pass_rows_with_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages themselves are not dependencies of the tests; their constructors are replaced."""
    expected = [
        {"name": "a", "sizes.cpu": 1, "parts": [], "sizes.memory": None},
        {"name": "<b>", "sizes.cpu": None, "parts": ["x", "y"], "sizes.memory": 2},
    ]
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=SimpleNamespace(from_records=list)))
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_dicts=lambda rows, infer_schema_length: rows))
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(Table=SimpleNamespace(from_pylist=list)))
    assert ROWS.to_pandas() == ROWS.to_polars() == ROWS.to_arrow() == expected


def test_clusters_runs_and_differences_are_shown() -> None:
    cluster = Cluster.from_objects(NODE, pod_manifest("a", "1"), pod_manifest("b", "1"))
    run = cluster.simulate()
    assert "<td>nodes</td>" in cluster._repr_html_()
    assert "Insufficient cpu" in run._repr_html_()
    assert "no difference" in run.diff(run)._repr_html_()
    more = run.cluster.add_nodes(1, like="ant").simulate()
    assert "ant-new-1" in run.diff(more)._repr_html_()
    assert repr(cluster) == "<Cluster: 1 nodes, 2 pods, 2 pods without a node, 0 other objects>"


def test_pages_stand_alone() -> None:
    """No external resources, no scripts, light and dark."""
    cluster = Cluster.from_objects(NODE, pod_manifest("a", "1"), pod_manifest("b", "1"))
    waiting = cluster.simulate().pending[0].pods[0]
    placed = next(each.pod for each in cluster.simulate().pods if each.node)
    for answer in (
        cluster.explain(waiting),
        cluster.explain(placed),
        cluster.why_not(waiting, "ant"),
        cluster.what_if(drain="ant", fit=waiting),
    ):
        page = answer_page(answer)
        assert page.startswith("<!doctype html>")
        assert answer.sentence.partition(" ")[0] in page
        assert "color-scheme: light dark" in page
        for forbidden in ("<script", "http:", "https:", "url(", "@import", "src="):
            assert forbidden not in page
