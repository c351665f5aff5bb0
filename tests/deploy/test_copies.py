"""Generated files of deploy/ are current; `make manifests` updates them."""

import json
import re
import runpy
from functools import cache

import pytest
from tests.deploy.rendered import DEPLOY

from stowplan.extender.informer_cache import InformerCache
from stowplan.extender.reservations import ReservationBook
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.observe.component_metrics import add_component_metrics
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.observe.rest_client_metrics import RequestMetrics

BY_SCRAPE = {"le", "job", "pod", "label_values"}
SUFFIXES = ("_bucket", "_sum", "_count")


@pytest.mark.parametrize(
    ("source", "copy"),
    [
        ("rbac.yaml", "kustomize/base/rbac.yaml"),
        ("rbac.yaml", "chart/files/rbac.yaml"),
        ("rbac-extender.yaml", "chart/files/rbac-extender.yaml"),
        ("rbac-optional-plugins.yaml", "chart/files/rbac-optional-plugins.yaml"),
        ("grafana/stowplan.json", "chart/files/dashboard.json"),
    ],
)
def test_copies_are_equal(source: str, copy: str) -> None:
    assert (DEPLOY / copy).read_text() == (DEPLOY / source).read_text(), "run `make manifests`"


def test_the_dashboard_is_what_its_source_makes() -> None:
    made = runpy.run_path(str(DEPLOY / "grafana" / "dashboard.py"))["text"]()
    assert (DEPLOY / "grafana" / "stowplan.json").read_text() == made, "run `make manifests`"


@cache
def known_metrics() -> dict[str, set[str]]:
    """The labels of every metric of schedulers and extenders, by name."""
    registry = MetricRegistry()
    add_component_metrics(registry, {}, lambda: True)
    SchedulerMetrics(registry, groups=True)
    RequestMetrics(registry, "localhost:6443")
    ExtenderMetrics(registry)
    extender = MetricRegistry()
    ServerMetrics(extender).watch(InformerCache(), ReservationBook(), lambda: 0)
    families = [*registry._families.values(), *extender._families.values()]
    known = {family.name: set(family.label_names) for family in families}
    exposed = re.findall(r"^(process_\w+) ", registry.expose().decode(), re.MULTILINE)
    return known | {name: set() for name in exposed}


def queries() -> list[str]:
    dashboard = json.loads((DEPLOY / "grafana" / "stowplan.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    return [*expressions, *(v["query"]["query"] for v in dashboard["templating"]["list"] if v["type"] == "query")]


@pytest.mark.parametrize("query", queries())
def test_the_dashboard_asks_for_metrics_and_labels_that_exist(query: str) -> None:
    known = known_metrics()
    names = {
        _family(name, known) for name in re.findall(r"\b([a-z]+_[a-z_]+)\s*[{,|\"]", query) if name not in BY_SCRAPE
    }
    assert names
    assert names <= set(known), names - set(known)
    labels = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
    assert labels <= set.union(*(known[name] for name in names)) | BY_SCRAPE


def _family(name: str, known: dict[str, set[str]]) -> str:
    stem = re.sub(f"({'|'.join(SUFFIXES)})$", "", name)
    return stem if stem in known else name
