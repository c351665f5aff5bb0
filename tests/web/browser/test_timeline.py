"""The timeline of a run: play, scrub, step, jump, by mouse and by keys; the map and the lists follow."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Route, expect
from tests.web.browser import clusters
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

COLUMNS = "JSON.stringify([[...stowplan.store.nodes.requested.cpu], [...stowplan.store.nodes.flags]])"
PODS = 60
MANY_EVENTS = """
(async () => {
  const { Replay } = await import('/static/replay.js');
  const { events } = stowplan.timeline.replay;
  const bound = events.kind.indexOf(0);
  const made = { ...events, dt: [], kind: [], pod: [], node: [] };
  for (let i = 0; i < 25000; i += 1) {
    for (const [kind, node] of [[0, events.node[bound]], [1, -1]]) {
      made.dt.push(1); made.kind.push(kind); made.pod.push(events.pod[bound]); made.node.push(node);
    }
  }
  const replay = new Replay(made, stowplan.store.nodes, stowplan.store.pods);
  const at = (position) => {
    replay.seek(position);
    return JSON.stringify([[...replay.state.requested.cpu], [...replay.state.node]]);
  };
  const forward = [1, 20001, 40000, 49999].map(at);
  const back = [49999, 40000, 20001, 1].map(at).reverse();
  return [replay.checkpoints.length, forward.every((text, i) => text === back[i]), forward[0] !== forward[2]];
})()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A run in which most pods get a node and some do not."""
    nodes = [clusters.node(f"node-{index}", 4, 8, {"pool": f"p{index % 2}"}) for index in range(6)]
    pods = [clusters.pod("shop", f"web-{index:03d}", "web", 500, 256) for index in range(PODS)]
    with Site(clusters.write(tmp_path_factory.mktemp("run") / "run.json", [*nodes, *pods])) as site:
        yield site


@pytest.fixture
def visitor(run: Site, visit: Callable[..., Visit]) -> Visit:
    opened = visit(at=run)
    opened.page.locator("html[data-run=ready]").wait_for(state="attached")
    return opened


def test_forward_and_back_give_the_same_columns(visitor: Visit, run: Site) -> None:
    end = visitor.state("stowplan.timeline.replay.events.end")
    assert end >= PODS
    last = visitor.state(COLUMNS)
    seen = {}
    for share in (0.2, 0.5, 0.8, 0.0):
        visitor.state(f"stowplan.timeline.seek({end * share})")
        seen[share] = visitor.state(COLUMNS)
    assert len(set(seen.values())) == 4
    for share in (0.8, 0.2, 0.5, 0.0):
        visitor.state(f"stowplan.timeline.seek({end * share})")
        assert visitor.state(COLUMNS) == seen[share]
    visitor.state(f"stowplan.timeline.seek({end})")
    assert visitor.state(COLUMNS) == last
    requested = run.answer("map")["nodes"]["requested"]["cpu"]
    cpu = requested if isinstance(requested, list) else [requested["all"]] * 6
    assert visitor.state("[...stowplan.store.nodes.requested.cpu]")[:6] == cpu[:6]


def test_keys_step_jump_and_play(visitor: Visit) -> None:
    page = visitor.page
    end = visitor.state("stowplan.timeline.replay.position")
    page.keyboard.press(",")
    page.keyboard.press(",")
    assert visitor.state("stowplan.timeline.replay.position") == end - 2
    page.keyboard.press(".")
    assert visitor.state("stowplan.timeline.replay.position") == end - 1
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    visitor.state("stowplan.timeline.seek(0)")
    page.keyboard.press(">")
    assert 0 < visitor.state("stowplan.timeline.replay.position") < end
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_mouse_plays_scrubs_and_chooses_the_speed(visitor: Visit) -> None:
    page = visitor.page
    page.get_by_label("Speed").select_option("1000")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert visitor.state("stowplan.timeline.time === stowplan.timeline.replay.events.end")
    box = page.get_by_label("Time of the run").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    end = visitor.state("stowplan.timeline.replay.events.end")
    assert visitor.state("stowplan.timeline.time") == pytest.approx(end / 2, rel=0.1)
    page.wait_for_timeout(400)
    page.get_by_label("Time of the run").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#panel-title")).to_contain_text("pending")


def test_address_has_the_time(run: Site, visit: Callable[..., Visit]) -> None:
    visitor = visit("#/map?t=5", at=run)
    visitor.page.locator("html[data-run=ready]").wait_for(state="attached")
    assert visitor.state("stowplan.timeline.time") == 5
    assert "t=5" in visitor.page.url


def test_checkpoints_of_many_events(visitor: Visit) -> None:
    """A run of 50,000 events, made of an event of this one."""
    assert visitor.state(MANY_EVENTS) == [3, True, True]


def test_events_may_come_in_several_answers(run: Site, visit: Callable[..., Visit]) -> None:
    visitor, asked = visit(at=run), []
    page = visitor.page
    page.locator("html[data-run=ready]").wait_for(state="attached")
    kinds = visitor.state("[...stowplan.timeline.replay.events.kind]")
    visitor.state("stowplan.timeline.seek(20)")
    columns = visitor.state(COLUMNS)
    whole = run.answer("run/events")

    def answer_in_parts(route: Route) -> None:
        first = int(route.request.url.partition("from=")[2] or 0)
        asked.append(first)
        window = slice(first, first + 25)
        part = {name: whole[name][window] for name in ("dt", "kind", "pod", "node")}
        rest = {} if first == 0 else {"nodes": [], "start": [], "reasons": []}
        route.fulfill(json={**whole, **rest, **part, "first": first})

    page.route("**/api/v1/run/events*", answer_in_parts)
    page.reload()
    page.locator("html[data-run=ready]").wait_for(state="attached")
    assert asked == list(range(0, whole["total"], 25))
    assert visitor.state("[...stowplan.timeline.replay.events.kind]") == kinds
    visitor.state("stowplan.timeline.seek(20)")
    assert visitor.state(COLUMNS) == columns


def test_narrow(visit: Callable[..., Visit], run: Site) -> None:
    opened = visit(width=390, at=run)
    opened.page.locator("html[data-run=ready]").wait_for(state="attached")
    assert opened.page.get_by_role("button", name="Play").is_visible()
    handle = opened.page.get_by_label("Time of the run")
    box = handle.bounding_box()
    assert box is not None
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    end = opened.state("stowplan.timeline.replay.events.end")
    assert opened.state("stowplan.timeline.time") == pytest.approx(end / 2, rel=0.1)
