"""The map: cells at their places in their colours, hover, zoom, levels of detail, keys, selection, search."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

BOX = """() => {
  const box = document.getElementById('map').getBoundingClientRect();
  return [box.left, box.top, box.width, box.height];
}"""


def place_of(page: Page, name: str) -> tuple[float, float]:
    """Where a node's cell is on the screen."""
    x, y = page.evaluate("name => stowplan.map.centre(stowplan.store.nodes.slotOf.get(name))", name)
    left, top, _, _ = page.evaluate(BOX)
    return left + x, top + y


def first_node(page: Page) -> str:
    name: str = page.evaluate("() => stowplan.store.nodes.names[stowplan.map.layout.blocks[0].slots[0]]")
    return name


def test_every_node_has_a_cell_of_its_own(page: Page, site: Site) -> None:
    names = [name for name in site.answer("map")["nodes"]["name"] if name]
    centres = page.evaluate("names => names.map(n => stowplan.map.centre(stowplan.store.nodes.slotOf.get(n)))", names)
    assert len({tuple(centre) for centre in centres}) == len(names)
    _, _, width, height = page.evaluate(BOX)
    assert all(0 < x < width and 0 < y < height for x, y in centres)
    found = page.evaluate(
        "names => names.map(n => { const s = stowplan.store.nodes.slotOf.get(n); "
        "return stowplan.map.at(...stowplan.map.centre(s)) === s; })",
        names,
    )
    assert all(found)


def test_colour_of_a_cell_is_the_step_of_the_ramp(page: Page) -> None:
    result = page.evaluate("""() => {
      const { map, store } = stowplan;
      const slot = map.visible.find(s => store.nodes.flags[s] % 4 === 0 && map.colouring.level[s] > 0.5);
      const [x, y] = map.centre(slot);
      const bottom = y + map.size / 2 - 6;
      const place = [x - map.size / 4, bottom].map(v => Math.round(v * map.scale));
      const pixel = map.ctx.getImageData(...place, 1, 1).data;
      const hex = '#' + [...pixel.slice(0, 3)].map(v => v.toString(16).padStart(2, '0')).join('');
      return [hex, map.ramp.includes(hex)];
    }""")
    assert result[1], result


MANY_NODES = """async (number) => {
  const { takeMap } = await import('./static/store.js');
  const { showCell } = await import('./static/map.js');
  const { map } = stowplan;
  const all = (value) => ({ all: value });
  const used = Array.from({ length: number }, (_, i) => (i * 7919) % 1000);
  const zone = { values: ['a', 'b'], index: used.map((_, i) => i % 3 ? 0 : 1) };
  takeMap({ epoch: 'many', revision: 1, time: 0, resources: ['cpu'], nodes: {
    name: used.map((_, i) => `node-${i}`), labels: { 'topology.kubernetes.io/zone': zone },
    flags: all(0), created: all(0), allocatable: { cpu: all(1000) }, requested: { cpu: used } } });
  const frames = async () => { for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame); };
  await frames();
  const [slot] = map.layout.blocks[0].slots;
  const place = map.centre(slot).map((v) => Math.round(v * map.scale));
  const pixel = [...map.ctx.getImageData(...place, 1, 1).data.slice(0, 3)];
  const whole = { side: map.side, legend: document.getElementById('legend').textContent, shown: map.visible.length,
    pixel: '#' + pixel.map((v) => v.toString(16).padStart(2, '0')).join(''),
    mean: map.layout.tiles.list[0].slots.reduce((sum, s) => sum + used[s] / 1000, 0) / 4, ramp: map.ramp,
    paint: map.paints.at(-1), found: map.at(...map.centre(slot)) === slot };
  showCell(slot, 40);
  await frames();
  return [whole, { side: map.side, legend: document.getElementById('legend').textContent }];
}"""


def test_cells_of_very_many_nodes_are_averaged_until_they_are_near(visit: Callable[..., Visit]) -> None:
    whole, near = visit().page.evaluate(MANY_NODES, 40_000)
    assert whole["shown"] == 40_000
    assert whole["side"] == 2
    assert "a cell is 4 nodes" in whole["legend"]
    assert whole["pixel"] == whole["ramp"][int(whole["mean"] * 32)]
    assert whole["found"], "the pointer finds single nodes"
    assert near["side"] == 1
    assert "a cell is" not in near["legend"]


def test_hover_shows_the_card_of_the_node(page: Page) -> None:
    name = first_node(page)
    page.mouse.move(*place_of(page, name))
    expect(page.locator("#card strong").first).to_have_text(name)
    expect(page.locator("#card .card-bars")).to_contain_text("cpu")
    page.mouse.move(5, 5)
    expect(page.locator("#card")).to_be_hidden()


def test_click_opens_the_node_and_escape_goes_back(page: Page) -> None:
    name = first_node(page)
    page.mouse.click(*place_of(page, name))
    expect(page.locator("#panel h1")).to_have_text(name)
    page.keyboard.press("Escape")
    expect(page.locator("#panel h1")).to_contain_text("pending")


def test_wheel_zooms_at_the_pointer_through_all_levels(page: Page) -> None:
    name = first_node(page)
    x, y = place_of(page, name)
    page.mouse.move(x, y)
    sizes = []
    for _ in range(14):
        page.mouse.wheel(0, -400)
        page.wait_for_timeout(20)
        sizes.append(page.evaluate("stowplan.map.size"))
        assert (
            page.evaluate(
                "([x, y]) => { const b = stowplan.map.canvas.getBoundingClientRect(); "
                "return stowplan.store.nodes.names[stowplan.map.at(x - b.left, y - b.top)]; }",
                [x, y],
            )
            == name
        )
    assert sizes == sorted(sizes)
    assert sizes[-1] > 150
    page.evaluate("() => stowplan.loadPods()")
    page.get_by_role("button", name="Fit").click()
    assert page.evaluate("stowplan.map.zoom") == 1


def test_zoom_stays_when_nodes_join(page: Page) -> None:
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    before = page.evaluate("[stowplan.map.size, stowplan.map.at(stowplan.map.width / 2, stowplan.map.height / 2)]")
    page.evaluate("() => import('./static/store.js').then(s => s.publish('nodes', { all: true }))")
    after = page.evaluate("[stowplan.map.size, stowplan.map.at(stowplan.map.width / 2, stowplan.map.height / 2)]")
    assert after[0] == before[0]
    assert before[1] < 0 or after[1] == before[1]


def test_drag_pans_and_buttons_zoom(page: Page) -> None:
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    before = page.evaluate("[stowplan.map.x, stowplan.map.y, stowplan.map.zoom]")
    assert before[2] > 3
    left, top, width, height = page.evaluate(BOX)
    page.mouse.move(left + width / 2, top + height / 2)
    page.mouse.down()
    page.mouse.move(left + width / 2 - 60, top + height / 2 - 40, steps=4)
    page.mouse.up()
    after = page.evaluate("[stowplan.map.x, stowplan.map.y]")
    assert after[0] - before[0] == pytest.approx(60, abs=2)
    assert after[1] - before[1] == pytest.approx(40, abs=2)
    page.get_by_role("button", name="Zoom out").click()
    assert page.evaluate("stowplan.map.zoom") < before[2]


def test_double_click_zooms_to_the_block(page: Page) -> None:
    page.mouse.dblclick(*place_of(page, first_node(page)))
    assert page.evaluate("stowplan.map.zoom") > 1


def test_keys_move_speak_zoom_and_open(page: Page) -> None:
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate("stowplan.store.nodes.names[stowplan.map.cursor]")
    assert first == first_node(page)
    page.keyboard.press("ArrowRight")
    second = page.evaluate("stowplan.store.nodes.names[stowplan.map.cursor]")
    assert second != first
    expect(page.locator("#live")).to_contain_text(f"{second}, cpu")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("stowplan.store.nodes.names[stowplan.map.cursor]") == first
    page.keyboard.press("+")
    assert page.evaluate("stowplan.map.zoom") > 1
    page.keyboard.press("0")
    assert page.evaluate("stowplan.map.zoom") == 1
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text(first)


def test_cursor_reaches_every_block(page: Page) -> None:
    page.locator("#map").focus()
    reached = set()
    for key in ["ArrowDown"] * 24 + ["ArrowRight"] * 24 + ["ArrowUp"] * 16:
        page.keyboard.press(key)
        reached.add(page.evaluate("stowplan.map.layout.blockOf[stowplan.map.cursor]"))
    assert len(reached) >= page.evaluate("stowplan.map.layout.blocks.length") * 0.5


def test_shift_click_and_rectangle_select_and_sum(page: Page) -> None:
    page.keyboard.down("Shift")
    page.mouse.click(*place_of(page, first_node(page)))
    expect(page.locator("#sums")).to_contain_text("1 node")
    left, top, _, _ = page.evaluate(BOX)
    page.mouse.move(left + 20, top + 50)
    page.mouse.down()
    page.mouse.move(left + 220, top + 220, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate("stowplan.map.selected.size") > 3
    expect(page.locator("#sums")).to_contain_text("cpu")
    page.get_by_role("button", name="clear").click()
    expect(page.locator("#sums")).to_be_hidden()


def test_grouping_and_colour_by_mouse_and_address(visit: Callable[..., Visit]) -> None:
    visitor = visit()
    page = visitor.page
    page.locator("#group-first").select_option("pool")
    assert page.evaluate("stowplan.map.layout.columns.map(c => c.name)") == sorted(
        ["general", "compute", "highmem", "spot", "gpu-l4", "gpu-h100"]
    )
    page.locator("#group-second").select_option("")
    for mode in page.locator("#colour option").all():
        page.locator("#colour").select_option(mode.get_attribute("value"))
        page.wait_for_timeout(30)
        assert page.locator("#legend > *").count() > 0 or mode.get_attribute("value") in ("workload", "priority")
    assert "by=pool" in page.url
    again = visit("#/map?by=pool&colour=resource%3Amemory")
    assert again.state("[stowplan.map.groups[0], stowplan.map.mode]") == ["pool", "resource:memory"]


def test_search_dims_other_nodes_and_opens(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("gpu-l4-0000")
    expect(page.locator("#found li").first).to_contain_text("eu-west-1a-gpu-l4-0000")
    assert page.evaluate("stowplan.store.focus.size") == 3
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("eu-west-1b-gpu-l4-0000")
    assert page.evaluate("stowplan.store.focus") is None
    page.keyboard.press("/")
    page.keyboard.type("checkout-")
    page.locator("#found li", has_text="shop/checkout-").first.click()
    expect(page.locator("#panel h1")).to_contain_text("shop/checkout-")
    page.keyboard.press("/")
    page.keyboard.type("nothing-is-named-so")
    expect(page.locator("#found")).to_contain_text("Nothing is named like")
    page.keyboard.press("Escape")
    expect(page.locator("#found")).to_be_hidden()
