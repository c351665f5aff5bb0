"""Requests of the benchmark: realistic, and no two alike."""

import json

from stowplan.bench.extender.traffic import CHANGED_NODE_SHARE, Traffic
from stowplan.bench.plugins import ZoneAndRoom
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.extender.wire.node_lists import split


def test_full_requests_are_written_as_the_scheduler_writes_them() -> None:
    traffic = Traffic(50, 0, names_only=False)
    request = json.loads(traffic.next_request().body)
    assert list(request) == ["Pod", "Nodes", "NodeNames"]
    assert request["NodeNames"] is None
    nodes = request["Nodes"]["items"]
    assert len(nodes) == 50
    assert "kind" not in nodes[0]
    assert next(iter(nodes[0]["metadata"])) == "name"
    assert all(5000 < len(json.dumps(node)) < 9000 and len(node["status"]["images"]) == 20 for node in nodes)
    assert split(traffic.next_request().body, {}) is not None


def test_requests_differ() -> None:
    traffic = Traffic(200, 0, names_only=False)
    requests = [json.loads(traffic.next_request().body) for _ in range(12)]
    assert len({request["Pod"]["metadata"]["uid"] for request in requests}) == 12
    assert len({request["Pod"]["metadata"]["labels"]["app"] for request in requests}) == 12
    assert len({request["Nodes"]["items"][0]["metadata"]["name"] for request in requests}) > 5
    first, second = ({n["metadata"]["name"]: n for n in request["Nodes"]["items"]} for request in requests[:2])
    assert sum(first[name] != second[name] for name in first) == 200 * CHANGED_NODE_SHARE


def test_names_come_with_news_about_changed_nodes() -> None:
    traffic = Traffic(100, 0, names_only=True)
    asked = traffic.next_request()
    request, news = json.loads(asked.body), json.loads(asked.changes)
    assert request["Nodes"] is None
    assert sorted(request["NodeNames"]) == sorted(f"node-{number}" for number in range(100))
    assert len(news["Nodes"]["items"]) == 1


def test_some_nodes_pass_and_some_do_not() -> None:
    traffic = Traffic(100, 0, names_only=False)
    handlers = Handlers([GroupMember(ZoneAndRoom)])
    rejects = [handlers.filter(traffic.next_request().body).facts.rejects for _ in range(20)]
    assert {"the zone is to be avoided", "too little cpu"} == {reason for each in rejects for reason in each}
    scores = json.loads(handlers.prioritize(traffic.next_request().body).body)
    assert len({entry["Score"] for entry in scores}) > 1
