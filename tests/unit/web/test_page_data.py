"""The page's data: what the commands print, and answers that agree with each other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.builders.engine_host import Host
from tests.builders.objects import member, node, pod, pod_group, typed
from tests.property.vocabulary import make_node, make_pod
from tests.unit.web.pages import Browser, shown

from stowplan.api.pod_group import COSCHEDULING_LABEL
from stowplan.cli.main import cli
from stowplan.web.columns import Times, flags_of
from stowplan.web.mirror import RING_SECONDS
from stowplan.web.queue_page import queue_page
from stowplan.web.wire import JUST_JOINED

NODES, PODS, EXPLAINED = 12, 40, 10
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def manifest(kind: str, item: Any) -> Any:
    return {"apiVersion": "v1", "kind": kind, **item}


def random_cluster(seed: int) -> list[Any]:
    rng = random.Random(seed)
    nodes = [make_node(f"n{number}", rng.randrange(100)) for number in range(NODES)]
    pods = [make_pod(f"p{number}", rng.randrange(100)) for number in range(PODS)]
    return [*(manifest("Node", each) for each in nodes), *(manifest("Pod", each) for each in pods)]


@pytest.mark.parametrize("seed", range(5))
def test_the_page_says_what_the_commands_print(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    compared = 0
    with shown(tmp_path, *random_cluster(seed)) as browser:
        file = tmp_path / "cluster.json"
        for number in rng.sample(range(PODS), PODS):
            printed = CliRunner().invoke(cli, ["explain", f"p{number}", "-f", str(file), "-o", "json"])
            if printed.exit_code not in (0, 3):
                continue  # The vocabulary has pods that a simulation refuses.
            assert browser.get(f"/api/v1/explain/default/p{number}").body + b"\n" == printed.stdout_bytes
            check_fit(browser, json.loads(printed.stdout))
            compared += 1
            if compared == EXPLAINED:
                return
    pytest.fail(f"only {compared} pods were compared")


def check_fit(browser: Browser, explanation: Any) -> None:
    """The colours of the map agree with the steps; the points with the totals."""
    key = f"{explanation['pod']['namespace']}/{explanation['pod']['name']}"
    fit = browser.data(f"fit/{key}")
    size = len(browser.data("map")["nodes"]["name"])
    step = listed(fit["step"], size)
    if explanation.get("steps"):
        lost = [(each["plugin"], each["lost"], each["left"]) for each in explanation["steps"][1:]]
        assert [(each["plugin"], each["lost"], each["left"]) for each in fit["steps"]] == lost
        assert [step.count(number) for number in range(1, len(lost) + 1)] == [each[1] for each in lost]
    for number, proposal in enumerate(explanation.get("proposals", ())):
        if proposal["change"].get("patch") and proposal["change"]["kind"] != "priority":
            assert len(browser.data(f"opened/{key}/{number}")["slot"]) == proposal["opens"]
    points = browser.data(f"points/{key}")
    assert len(points["slot"]) == step.count(0)
    for each in points["plugins"]:
        assert len(listed(each["normalized"], len(points["slot"]))) == len(points["slot"])
    total = listed(points["total"], len(points["slot"]))
    assert total == sorted(total, reverse=True)
    if points["plugins"]:
        sums = [
            sum(each["weight"] * listed(each["normalized"], len(total))[position] for each in points["plugins"])
            for position in range(len(total))
        ]
        assert sums == total


def listed(values: Any, size: int) -> list[Any]:
    return [values["all"]] * size if isinstance(values, dict) else values


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    gated = pod("gated", namespace="shop", schedulingGates=[{"name": "example.com/hold"}])
    items = [
        *(manifest("Node", node(f"n{number}", zone=f"z{number % 2}", labels={"pool": "p"})) for number in range(4)),
        manifest("Node", node("cordoned", unschedulable=True, taints=[TAINT])),
        *(manifest("Pod", pod(f"big-{number}", namespace="shop", requests={"cpu": 5})) for number in range(3)),
        manifest("Pod", pod("web", namespace="shop", requests={"cpu": 1}, labels={"app": "web"})),
        manifest("Pod", gated),
        manifest("Namespace", {"metadata": {"name": "shop"}}),
    ]
    with shown(tmp_path_factory.mktemp("page"), *items) as browser:
        yield browser


def test_hello_names_the_source_and_what_it_offers(browser: Browser) -> None:
    hello = browser.data("hello")
    assert (hello["source"], hello["kind"], hello["nodes"], hello["pods"], hello["pending"]) == (
        "cluster.json",
        "simulation",
        5,
        1,
        4,
    )
    assert "stream" in hello["features"]


def test_the_map_has_columns_of_all_nodes(browser: Browser) -> None:
    map_ = browser.data("map")
    nodes = map_["nodes"]
    assert map_["resources"] == ["cpu", "memory", "pods"]
    assert nodes["name"] == ["n0", "n1", "n2", "n3", "cordoned"]
    assert nodes["labels"]["topology.kubernetes.io/zone"] == {"values": ["z0", "z1", ""], "index": [0, 1, 0, 1, 2]}
    assert "pool" in nodes["labels"]
    assert "kubernetes.io/hostname" not in nodes["labels"]
    assert nodes["allocatable"]["cpu"] == {"all": 4000}
    assert sum(listed(nodes["requested"]["cpu"], 5)) == 1000
    assert nodes["taints"]["values"][nodes["taints"]["index"][4]] == "k=v:NoSchedule"
    assert nodes["flags"] == [0, 0, 0, 0, 1]


def test_pending_pods_are_grouped_and_paged(browser: Browser) -> None:
    page = browser.data("pending")
    assert page["pods"] == 4
    big = page["groups"][0]
    assert (big["pods"], big["verdict"], big["workloads"]) == (
        3,
        "never",
        {f"shop/big-{number}": 1 for number in range(3)},
    )
    rows = browser.data(f"pending/{big['id']}?from=1&count=1")
    assert (rows["pods"], rows["first"], [row["pod"] for row in rows["rows"]]) == (3, 1, ["shop/big-1"])
    assert rows["rows"][0]["place"] == "unschedulable"
    assert browser.get("/api/v1/pending/unknown").status == 404


def test_pods_and_their_names_are_columns(browser: Browser) -> None:
    pods, names = browser.data("pods"), browser.data("pods?names")
    assert len(pods["node"]) == len(names["suffix"]) == 5
    (row,) = [row for row, slot in enumerate(pods["node"]) if slot >= 0]
    assert names["prefix"]["values"][names["prefix"]["index"][row]] + names["suffix"][row] == "shop/web"
    assert pods["requests"]["cpu"][row] == 1000


def test_a_node_shows_its_pods(browser: Browser) -> None:
    slot = max(browser.data("pods")["node"])
    page = browser.data(f"node/n{slot}")
    assert (page["slot"], page["labels"]["pool"], page["requested"]["cpu"]) == (slot, "p", 1000)
    assert [(each["pod"], each["state"]) for each in page["pods"]] == [("shop/web", "running")]
    assert browser.get("/api/v1/node/nothing").status == 404


def test_the_fit_of_a_pod_names_rules_near_misses_and_amounts(browser: Browser) -> None:
    fit = browser.data("fit/shop/big-0")
    assert [(each["plugin"], each["kind"], each["left"]) for each in fit["steps"]] == [
        ("TaintToleration", "identity", 4),
        ("NodeResourcesFit", "amount", 0),
    ]
    assert fit["step"][:5] == [2, 2, 2, 2, 1]
    assert set(fit["step"][5:]) <= {-1}  # Slots of nodes that explanations added and removed.
    assert set(fit["plugins"]) == {"NodeUnschedulable", "TaintToleration", "NodeResourcesFit"}
    bits = {plugin: 1 << number for number, plugin in enumerate(fit["plugins"])}
    assert fit["rejects"][4] == sum(bits.values())
    used = listed(browser.data("map")["nodes"]["requested"]["cpu"], 5)[:5]
    assert fit["lacks"]["cpu"] == {"slot": [0, 1, 2, 3, 4], "amount": [1000 + amount for amount in used]}


def test_a_small_shortage_is_a_near_miss(tmp_path: Path) -> None:
    items = [manifest("Node", node("a", cpu="1950m")), manifest("Node", node("b", cpu="500m"))]
    with shown(tmp_path, *items, manifest("Pod", pod("p", requests={"cpu": 2}))) as browser:
        fit = browser.data("fit/default/p")
    assert fit["lacks"]["cpu"] == {"slot": [0, 1], "amount": [50, 1500]}
    assert fit["near"] == []  # More than the node ever has: not a small change.


def test_a_placed_pod_has_points(browser: Browser) -> None:
    points = browser.data("points/shop/web")
    assert points["node"] in points["slot"]
    assert len(points["slot"]) == 4
    assert {"NodeResourcesFit", "TaintToleration"} <= {each["plugin"] for each in points["plugins"]}


def test_why_not_is_what_the_command_prints(browser: Browser, tmp_path: Path) -> None:
    answer = browser.data("why-not/shop/big-0/n0")
    assert (answer["node"], answer.get("fits", False)) == ("n0", False)
    assert browser.get("/api/v1/why-not/shop/big-0/nothing").status == 404


def test_the_queue_lists_pods_by_place(browser: Browser) -> None:
    queue = browser.data("queue")
    assert queue["counts"] == {"active": 0, "backoff": 0, "unschedulable": 3, "gated": 1}
    assert [row["pod"] for row in queue["gated"]] == ["shop/gated"]
    assert {row["pod"] for row in queue["unschedulable"]} == {f"shop/big-{number}" for number in range(3)}


def test_the_configuration_marks_what_differs_from_the_default(browser: Browser) -> None:
    config = browser.data("config")
    (profile,) = config["profiles"]
    assert profile["changedArgs"] == [] == list(profile["removed"])
    assert all(each["default"] for plugins in profile["points"].values() for each in plugins)
    weights = {each["plugin"]: each["weight"] for each in profile["points"]["score"]}
    assert weights["TaintToleration"] == 3


def test_json_is_compressed_and_not_sent_twice(browser: Browser) -> None:
    import gzip

    reply = browser.get("/api/v1/config", Accept_Encoding="gzip")
    assert reply.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(reply.body)) == browser.data("config")
    again = browser.get("/api/v1/config", If_None_Match=reply.headers["ETag"])
    assert (again.status, again.body) == (304, b"")


def test_static_files_are_compressed_and_not_sent_twice(browser: Browser) -> None:
    reply = browser.get("/static/app.js", Accept_Encoding="gzip")
    assert (reply.headers["Content-Encoding"], reply.headers["Content-Type"]) == (
        "gzip",
        "text/javascript; charset=utf-8",
    )
    assert browser.get("/static/app.js", If_None_Match=reply.headers["ETag"]).status == 304


def test_the_queue_shows_the_head_of_each_sub_queue() -> None:
    host = Host(node("a"), *(pod(f"big-{number}", requests={"cpu": 9}) for number in range(3)))
    host.engine.schedule_one()
    host.settle()
    host.put(node("b", cpu=16))
    page = queue_page(host.engine, "e", 0.0, 0.0, [])
    assert page.counts == {"active": 2, "backoff": 1, "unschedulable": 0, "gated": 0}
    assert [row.pod for row in page.active] == ["default/big-1", "default/big-2"]
    (row,) = page.backoff
    assert (row.pod, row.attempts, row.plugins) == ("default/big-0", 1, ["NodeResourcesFit"])
    assert row.until > row.since


def test_viewers_that_load_all_pods_at_once_share_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    with shown(tmp_path, manifest("Node", node("a")), manifest("Pod", pod("web"))) as browser:
        cookie, original = browser.cookie, browser.source.pods

        async def counted() -> Any:
            calls.append(1)
            return await original()

        monkeypatch.setattr(browser.source, "pods", counted)
        with ThreadPoolExecutor(10) as viewers:
            replies = list(viewers.map(lambda _: browser.get("/api/v1/pods", Cookie=cookie), range(10)))
        plain = browser.get("/api/v1/pods", Cookie=cookie, Accept_Encoding="identity")
    assert len(calls) == 1
    assert {reply.status for reply in replies} == {200}
    assert {reply.body for reply in replies} == {plain.body}


def test_the_number_of_pods_is_sent_also_where_all_columns_are_constant(tmp_path: Path) -> None:
    pods = [manifest("Pod", pod(f"web-{number}", "a")) for number in range(3)]
    with shown(tmp_path, manifest("Node", node("a")), *pods) as browser:
        columns = browser.data("pods")
    assert (columns["number"], columns["node"]) == (3, {"all": 0})


@pytest.mark.parametrize(
    ("created", "now", "start", "joined"),
    [
        ("2024-01-01T00:10:00Z", 700.0, 1704067200.0, True),
        ("2024-01-01T00:10:00Z", 901.0, 1704067200.0, False),
        ("2024-01-01T00:00:00Z", 0.0, 1704067200.0, False),
        ("2026-05-05T00:00:00Z", 0.0, 1704067200.0, False),
        ("2026-05-05T00:00:00Z", 0.0, 0.0, False),
    ],
)
def test_a_node_has_just_joined_by_the_clock_of_the_source_only(
    created: str, now: float, start: float, joined: bool
) -> None:
    made = typed(node("a"))
    made = replace(made, metadata=replace(made.metadata, creation_timestamp=created))
    assert bool(flags_of(made, Times(now, start)) & JUST_JOINED) == joined


def test_a_kept_map_is_made_again_once_its_revision_is_forgotten(tmp_path: Path) -> None:
    """Otherwise a client would load the same columns again and again: each time the stream sends a reset."""
    with shown(tmp_path, manifest("Node", node("a")), manifest("Pod", pod("web"))) as browser:
        first = browser.data("map")["revision"]
        mirror = browser.source.mirror
        for _ in range(2):
            mirror.publish("queue", {"time": 1})
            mirror._clock = lambda: monotonic() + 10 * RING_SECONDS
        assert not mirror.knows(first)
        assert mirror.knows(browser.data("map")["revision"])


def test_members_of_a_pod_group_without_a_controller_are_one_workload(tmp_path: Path) -> None:
    """The map, the lists, the pages of the node and of the members, and the replay of the run agree."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j"}
    labelled = pod("labelled", labels={COSCHEDULING_LABEL: "bert"}, requests={"cpu": "1"})
    objects = [
        manifest("Node", node("n", cpu=4)),
        manifest("PodGroup", pod_group("g", 2)) | {"apiVersion": "scheduling.k8s.io/v1alpha2"},
        manifest("PodGroup", pod_group("big", 2)) | {"apiVersion": "scheduling.k8s.io/v1alpha2"},
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": "bert"},
            "spec": {"minMember": 1},
        },
        *(manifest("Pod", member(name, requests={"cpu": "1"})) for name in ("a", "b")),
        manifest("Pod", member("owned", requests={"cpu": "1"}, owner=job)),
        *(manifest("Pod", member(f"big-{each}", "big", requests={"cpu": "9"})) for each in range(2)),
        manifest("Pod", labelled),
        manifest("Pod", pod("alone")),
    ]
    expected = {"a": "PodGroup/g", "b": "PodGroup/g", "owned": "Job/train", "labelled": "PodGroup/bert", "alone": ""}
    with shown(tmp_path, *objects) as browser:
        on_node = {each["pod"]: each["workload"] for each in browser.data("node/n")["pods"]}
        assert on_node == {f"default/{name}": f"default/{workload}" for name, workload in expected.items()}
        assert {*browser.data("pods")["workload"]["values"]} == {*on_node.values(), "default/PodGroup/big"}
        (pending,) = browser.data("pending")["groups"]
        assert pending["workloads"] == {"default/PodGroup/big": 2}
        rows = browser.data(f"pending/{pending['id']}")["rows"]
        assert [row["workload"] for row in rows] == ["default/PodGroup/big"] * 2
        for name, group in (("a", "g"), ("owned", "g"), ("big-0", "big"), ("labelled", "bert"), ("alone", None)):
            explained = browser.data(f"explain/default/{name}")["pod"]
            assert (explained.get("workload", ""), explained.get("podGroup")) == (
                expected.get(name, "PodGroup/big"),
                group,
            )
        assert browser.data("workload/default/PodGroup/g")["placed"] == 3
