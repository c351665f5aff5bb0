"""Modules without a picture: columns after events equal a fresh map, and the layout places every node once."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

EVENTS = """async ([map, events]) => {
  const { takeMap, applyEvent, store } = await import('./static/store.js');
  takeMap(map);
  for (const [kind, data] of events) applyEvent(kind, data);
  const { names, requested, flags, labels, taints } = store.nodes;
  const zone = labels['topology.kubernetes.io/zone'];
  return {
    names, flags: [...flags], cpu: [...requested.cpu],
    zone: [...zone.index].map(i => zone.values[i]), taints: [...taints.index].map(i => taints.values[i]),
  };
}"""
LAYOUT = """async ([columns, width, height, scale]) => {
  const { groupSlots, layOut, slotAt, neighbour } = await import('./static/layout.js');
  const { names, first, second } = columns;
  const slots = names.map((_, i) => i);
  const groups = groupSlots(slots, names, first ? s => first[s] : null, second ? s => second[s] : null);
  const layout = layOut(groups, width, height, scale);
  const size = layout.pitch;
  const { cellX, cellY, offsetX, offsetY } = layout;
  const places = slots.map(s => [cellX[s] * size + offsetX[s], cellY[s] * size + offsetY[s]]);
  const hit = slots.every(s => slotAt(layout, places[s][0] + size / 2, places[s][1] + size / 2, size) === s);
  return { pitch: size, places, hit, columns: layout.columns.length, blocks: layout.blocks.length,
    right: neighbour(layout, groups[0].blocks[0].slots[0], 1, 0, size) };
}"""


@pytest.fixture(scope="module")
def shared(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for all tests of this module, with a stream that stays closed."""
    visitor = Visit(browser, site, width=1280, height=800, theme="light")
    page = visitor.open("")
    page.evaluate("() => import('./static/net.js').then(net => net.closeStream())")
    yield page
    visitor.close()
    assert visitor.messages == []


def node_map(names: list[str]) -> dict[str, Any]:
    """The answer `map` for nodes with these names."""
    nodes = {
        "name": names,
        "labels": {"topology.kubernetes.io/zone": {"values": ["a", "b"], "index": [i % 2 for i in range(len(names))]}},
        "allocatable": {"cpu": {"all": 4000}, "memory": {"all": 8 << 30}, "pods": {"all": 110}},
        "requested": {"cpu": {"all": 0}, "memory": {"all": 0}, "pods": {"all": 0}},
        "taints": {"values": [""], "index": {"all": 0}},
        "flags": {"all": 0},
        "created": {"all": 0},
    }
    return {"epoch": "e", "revision": 1, "time": 0, "resources": ["cpu", "memory", "pods"], "nodes": nodes}


def test_events_leave_the_columns_of_a_fresh_map(shared: Page) -> None:
    names = [f"node-{index}" for index in range(50)]
    cpu = [0] * 50
    events: list[list[Any]] = []
    for step in range(1000):
        slots = [(step * 7 + i * 3) % 50 for i in range(3)]
        amounts = [(step * 13 + i) % 4000 for i in range(3)]
        for slot, amount in zip(slots, amounts, strict=True):
            cpu[slot] = amount
        events.append(
            ["nodes", {"slot": slots, "requested": {"cpu": amounts, "memory": {"all": 5}, "pods": {"all": 1}}}]
        )
    events.append(["flags", {"slot": [3, 4], "flags": [1, 2]}])
    events.append(["left", {"slot": [5]}])
    added = node_map(["node-new", "node-last"])["nodes"]
    added["labels"] = {"topology.kubernetes.io/zone": {"values": ["c"], "index": {"all": 0}}}
    added["taints"] = {"values": ["spot:NoSchedule"], "index": {"all": 0}}
    added["requested"] = {"cpu": [7, 9], "memory": {"all": 0}, "pods": {"all": 0}}
    events.append(["joined", {"slot": [5, 50], "nodes": added}])
    events.append(["unknown", {}])
    result = shared.evaluate(EVENTS, [node_map(names), events])
    cpu[5] = 7
    assert result["cpu"] == [*cpu, 9]
    assert result["names"] == [*names[:5], "node-new", *names[6:], "node-last"]
    assert result["flags"][3:5] == [1, 2]
    assert result["zone"][4:7] == ["a", "c", "a"]
    assert result["taints"][5] == result["taints"][50] == "spot:NoSchedule"
    again = shared.evaluate(EVENTS, [node_map(names), events + events[-4:]])
    assert again == result, "events have absolute values"


@pytest.mark.parametrize(
    ("nodes", "zones", "pools", "width", "height", "scale"),
    [
        (1, 1, 1, 1180, 700, 1),
        (7, 3, 2, 380, 380, 2),
        (300, 1, 1, 1180, 700, 1),
        (5000, 3, 6, 1180, 700, 1),
        (5000, 64, 3, 1180, 700, 1),
        (2000, 10, 64, 1180, 700, 1.5),
        (15000, 3, 6, 1180, 700, 1),
    ],
)
def test_layout_places_every_node_once(
    shared: Page, nodes: int, zones: int, pools: int, width: int, height: int, scale: float
) -> None:
    columns = {
        "names": [f"node-{index}" for index in range(nodes)],
        "first": [f"zone-{index % zones}" for index in range(nodes)] if zones > 1 else None,
        "second": [f"pool-{index // 3 % pools}" for index in range(nodes)] if pools > 1 else None,
    }
    found = shared.evaluate(LAYOUT, [columns, width, height, scale])
    places = {tuple(place) for place in found["places"]}
    assert len(places) == nodes
    assert found["hit"]
    assert found["columns"] == min(zones, nodes)
    assert (found["pitch"] * scale).is_integer() if isinstance(found["pitch"], float) else True
    assert all(0 <= x <= width - found["pitch"] + 1 for x, _ in places)
    assert max(y for _, y in places) + found["pitch"] <= height or found["pitch"] == 12, "scrolls only if it has to"
    assert nodes == 1 or found["right"] >= 0


def test_totals_with_other_weights(shared: Page) -> None:
    result = shared.evaluate("""async () => {
      const { totalsWith, winnersOf } = await import('./static/weights.js');
      const points = { slot: [4, 9], plugins: [
        { plugin: 'A', weight: 1, normalized: [100, 0] }, { plugin: 'B', weight: 2, normalized: [0, 60] }] };
      const weights = [{}, { A: 2 }, { A: 0, B: 0 }];
      return weights.map(w => [[...totalsWith(points, w)], winnersOf(totalsWith(points, w))]);
    }""")
    assert result == [[[100, 120], [1]], [[200, 120], [0]], [[0, 0], [0, 1]]]


def test_words_of_amounts_and_times(shared: Page) -> None:
    result = shared.evaluate("""async () => {
      const f = await import('./static/format.js');
      return [f.amount('cpu', 11950), f.amount('memory', 128 * 2 ** 30), f.amountOf('memory', 2 ** 30, 2 ** 36),
        f.amount('nvidia.com/gpu', 8), f.count(50000), f.plural(1, 'node'), f.duration(38), f.duration(1020),
        f.duration(172800), f.clock(5400), f.commonPrefix(['ip-10-1', 'ip-10-22']), f.percent(1, 3)];
    }""")
    assert result == [
        "11.95", "128 Gi", "1 / 64 Gi", "8", "50,000", "1 node", "38 s", "17 min", "2 d", "1:30:00", "ip-10-", 33,
    ]  # fmt: skip


def test_colours_are_ordered_by_lightness(shared: Page) -> None:
    """Fuller stands out more; the stacked series of charts differ in lightness by at least 15."""
    result = shared.evaluate("""async () => {
      const { ramp } = await import('./static/colours.js');
      const lightness = hex => { const c = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const y = 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y; };
      const series = ['light', 'dark'].map(theme => { document.documentElement.dataset.theme = theme;
        const style = getComputedStyle(document.documentElement);
        const names = ['--unschedulable', '--backoff', '--active', '--gated'];
        return names.map(n => lightness(style.getPropertyValue(n).trim())); });
      return [ramp(false).map(lightness), ramp(true).map(lightness), ...series];
    }""")
    light, dark, *series = result
    assert all(a >= b - 0.5 for a, b in pairwise(light))
    assert all(a <= b + 0.5 for a, b in pairwise(dark))
    for values in series:
        stacked = values[:3]
        assert all(abs(a - b) >= 15 for a, b in pairwise(stacked)), values
