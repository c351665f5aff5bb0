"""Whole answers as text, at 80 and 120 columns and with lines of any length.

`python -m tests.unit.insight.test_golden` writes the texts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tests.builders import ZONE, Json, near, node, pod, spread, term, weighted
from tests.builders.engine_host import Host

from stowplan.insight.explain import run
from stowplan.insight.insight import Insight
from stowplan.insight.text.groups import groups_lines
from stowplan.insight.text.layout import Layout
from stowplan.insight.text.pending import pending_lines
from stowplan.insight.text.placed import placed_lines
from stowplan.insight.text.why_not import why_not_lines
from stowplan.insight.workloads import workload_reference

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = {"80": 80, "120": 120, "none": None}
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")


def nodes() -> Iterator[Json]:
    for number in range(12):
        zone, pool = ZONES[number % 3], "general" if number < 9 else "highmem"
        taints = [] if pool == "general" else [{"key": "pool", "value": pool, "effect": "NoSchedule"}]
        images = [{"names": ["catalog:v12"], "sizeBytes": 640 << 20}] if number in (1, 4) else []
        yield node(
            f"{zone}-{pool}-{number:04}",
            cpu="16",
            memory="64Gi",
            zone=zone,
            labels={"pool": pool},
            taints=taints,
            images=images,
            unschedulable=number == 8,
        )


def owned(kind: str, name: str, number: int, **more: object) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name}
    return pod(f"{name}-{number}", namespace="shop", owner=owner, **{"labels": {"app": name}, **more})  # type: ignore[arg-type]


def running() -> Iterator[Json]:
    """In eu-west-1a, 4.05 CPU of each node are requested; the other zones hold more pods of checkout."""
    for number in range(9):
        zone = ZONES[number % 3]
        name = f"{zone}-general-{number:04}"
        used = "4050m" if zone == "eu-west-1a" else "2"
        yield pod(f"web-{number}", name, namespace="shop", priority=number % 2, requests={"cpu": used, "memory": "4Gi"})
        if zone != "eu-west-1a":
            app = {"app": "checkout"}
            yield pod(f"old-{number}", name, namespace="shop", labels=app, requests={"cpu": "1", "memory": "1Gi"})
    for number in (1, 4):
        name = f"eu-west-1b-general-{number:04}"
        yield pod(f"cache-{number}", name, namespace="shop", labels={"app": "cache"}, requests={"cpu": "1"})


def pending() -> Iterator[Json]:
    constraint = spread(ZONE, app="checkout")
    for number in range(3):
        yield owned(
            "StatefulSet",
            "checkout",
            number,
            priority=1,
            preemptionPolicy="Never",
            requests={"cpu": "12", "memory": "48Gi"},
            nodeSelector={"pool": "general"},
            topologySpreadConstraints=[constraint],
        )
    yield owned("StatefulSet", "index", 41, requests={"cpu": "1"}, nodeSelector={"disktype": "nvme"})
    yield owned("Job", "report", 0, schedulingGates=[{"name": "example.com/quota"}])
    affinity = near(preferred=[weighted(100, term(ZONE, app="cache"))])
    containers = [{"name": "app", "image": "catalog:v12", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]
    yield owned("StatefulSet", "catalog", 0, affinity=affinity, containers=containers)


def answered() -> Insight:
    host = Host(*nodes(), *running(), *pending())
    host.schedule()
    host.advance(240)
    return Insight(host.engine, host.clock)


Lines = Callable[[Insight, Layout], Iterable[str]]


def pending_text(name: str) -> Lines:
    return lambda insight, layout: pending_lines(run(insight.explain(insight.find(name, "shop").pod)), layout)


def why_not_text(name: str, node_name: str) -> Lines:
    def lines(insight: Insight, layout: Layout) -> Iterable[str]:
        found = insight.find(name, "shop").pod
        return why_not_lines(run(insight.why_not(found, insight.node(node_name))), layout)

    return lines


def placed_text(insight: Insight, layout: Layout) -> Iterable[str]:
    return placed_lines(run(insight.explain_placed(insight.find("catalog-0", "shop").pod)), layout)


def workload_text(insight: Insight, layout: Layout) -> Iterable[str]:
    reference = workload_reference("StatefulSet/checkout", "shop")
    assert reference is not None
    return groups_lines(run(insight.workload(reference)), layout)


ANSWERS: dict[str, Lines] = {
    "pending": pending_text("checkout-0"),
    "never": pending_text("index-41"),
    "gated": pending_text("report-0"),
    "placed": placed_text,
    "why-not": why_not_text("checkout-0", "eu-west-1b-general-0001"),
    "would-do": why_not_text("catalog-0", "eu-west-1a-general-0003"),
    "all-pending": lambda insight, layout: groups_lines(run(insight.pending()), layout),
    "workload": workload_text,
}


def text_of(insight: Insight, name: str) -> str:
    """The answer at every width."""
    parts = []
    for title, width in WIDTHS.items():
        lines = list(ANSWERS[name](insight, Layout(width)))
        parts += [f"# {title}", "", *lines, ""]
    return "\n".join(parts)


@pytest.fixture(scope="module")
def insight() -> Insight:
    return answered()


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_as_written(insight: Insight, name: str) -> None:
    assert text_of(insight, name) == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("width", [80, 120])
def test_sentences_are_folded(insight: Insight, name: str, width: int) -> None:
    """Only tables, whose lines have columns two spaces apart, are wider."""
    for line in ANSWERS[name](insight, Layout(width)):
        assert len(line) <= width or "  " in line.strip()


def test_lists_are_cut(insight: Insight) -> None:
    lines = list(groups_lines(run(insight.pending()), Layout(None, top=1)))
    assert lines[-1] == "  and 2 more reasons; --all lists them"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    made = answered()
    for each in ANSWERS:
        (GOLDEN / f"{each}.txt").write_text(text_of(made, each))
