"""The controls of every view, by mouse and by keyboard."""

from collections.abc import Callable

from playwright.sync_api import Page, expect
from tests.web.browser.clusters import HASH
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

PENDING_POD = f"#/pod/media/encode-wide-{HASH}-0000"


def test_groups_of_the_panel_open_a_pod(page: Page) -> None:
    link = page.locator("#panel-groups a", has_text="CPU on one node")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_contain_text("media/encode-wide")
    expect(page.locator("#pod-facts")).to_contain_text("one of 9")
    page.get_by_role("link", name="all pending pods").click()
    expect(page.locator("#panel-title")).to_contain_text("pending")


def test_map_shows_what_refuses_the_pod_and_funnel_lights_nodes(view: Callable[[str], Visit], site: Site) -> None:
    visitor = view(PENDING_POD)
    page = visitor.page
    expect(page.locator("#colour")).to_have_value("refuses")
    fit = site.answer(f"fit/media/encode-wide-{HASH}-0000")
    rows = page.locator(".funnel-row")
    assert rows.count() == len(fit["steps"])
    for index, step in enumerate(fit["steps"]):
        expect(rows.nth(index)).to_contain_text(step["plugin"])
        rows.nth(index).click()
        assert visitor.state("stowplan.store.focus.size") == step["lost"]
        rows.nth(index).focus()
        page.keyboard.press("Enter")
        assert visitor.state("stowplan.store.focus") is None


def test_near_miss_is_ringed_and_proposals_have_patches(view: Callable[[str], Visit]) -> None:
    visitor = view(PENDING_POD)
    page = visitor.page
    page.locator(".near-list li, .amounts tbody tr").first.hover()
    assert visitor.state("stowplan.store.rings.length") == 1
    page.locator(".near-list a, .amounts tbody a").first.focus()
    assert visitor.state("stowplan.store.rings[0].kind") == "near"
    patch = page.locator(".proposals summary").first
    patch.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".proposals pre").first).to_contain_text('"op"')


def test_why_not_answers_for_a_node(visit: Callable[..., Visit]) -> None:
    visitor = visit(PENDING_POD, expected=("404",))
    page = visitor.page
    page.get_by_label("Why not this node?").fill("eu-west-1a-general-0001")
    page.keyboard.press("Enter")
    expect(page.locator(".why-not")).to_contain_text("eu-west-1a-general-0001")
    page.get_by_label("Why not this node?").fill("no-such-node")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".why-not")).to_contain_text("no-such-node")


def test_weights_change_the_winner_at_once(view: Callable[[str], Visit], site: Site) -> None:
    name = site.pods("shop/checkout-")[0]
    visitor = view(f"#/pod/{name}")
    page = visitor.page
    expect(page.locator("#colour")).to_have_value("points")
    page.get_by_text("Change weights").click()
    sliders = page.locator(".slider input")
    sliders.first.wait_for()
    for slider in sliders.all():
        slider.fill("0")
    expect(page.locator(".sliders .said")).to_contain_text("have 0 points")
    sliders.nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sliders .said")).not_to_contain_text("have 0 points")
    page.get_by_role("button", name="Configured weights").click()
    best = site.answer(f"points/{name}")["total"]
    assert visitor.state("stowplan.store.pod.points.total[0]") == (best["all"] if isinstance(best, dict) else best[0])


def test_matrix_sorts_filters_explains_and_exports(view: Callable[[str], Visit]) -> None:
    visitor = view(PENDING_POD.replace("pod", "matrix", 1))
    page = visitor.page
    rows = page.locator(".virtual-row")
    expect(rows.first).to_contain_text("compute")
    page.get_by_label("Sort").select_option("name")
    expect(rows.first).to_contain_text("eu-west-1a-compute-0000")
    page.get_by_label("Filter").fill("1c-gpu")
    expect(rows.first).to_contain_text("eu-west-1c-gpu")
    assert rows.count() < 10
    page.locator(".virtual").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".why-not")).to_contain_text("NodeResourcesFit")
    for button, ending in (("CSV", ".csv"), ("JSON", ".json")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert download.value.suggested_filename.endswith(ending)
        assert "eu-west-1c-gpu" in download.value.path().read_text()
    page.keyboard.press("Escape")
    expect(page.locator("#panel h1")).to_contain_text("encode-wide")


def test_pending_page_filters_sorts_and_opens_by_keys(view: Callable[[str], Visit]) -> None:
    visitor = view("#/pending")
    page = visitor.page
    rows = page.locator(".virtual-row")
    expect(rows).to_have_count(4)
    page.keyboard.press("f")
    page.keyboard.type("nvme")
    expect(rows).to_have_count(1)
    expect(page.locator("#pending-title")).to_contain_text("1 reason")
    page.get_by_label("Filter").fill("")
    page.get_by_label("Verdict").select_option("never")
    expect(rows).to_have_count(2)
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Namespace").select_option("data")
    expect(rows).to_have_count(1)
    page.get_by_label("Namespace").select_option("")
    page.get_by_label("Sort").select_option("name")
    page.get_by_label("Sort").select_option("count")
    page.locator(".virtual").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(13)
    expect(rows.nth(1)).to_contain_text("media/encode-wide")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_contain_text("media/encode-wide")


def test_node_page_sorts_pods_and_links_them(view: Callable[[str], Visit]) -> None:
    visitor = view("#/node/eu-west-1a-compute-0000")
    page = visitor.page
    page.get_by_role("button", name="cpu", exact=True).click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("cpu")
    page.get_by_role("button", name="cpu", exact=True).press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("cpu")
    page.get_by_label("Resource of the blocks").select_option("memory")
    expect(page.locator(".pod-blocks a").first).to_be_visible()
    page.locator("tbody a").first.click()
    expect(page.locator("#panel .sentence")).to_be_visible()


def test_workload_page_lights_its_nodes(view: Callable[[str], Visit]) -> None:
    visitor = view("#/workload/shop/Deployment/checkout")
    expect(visitor.page.locator("#panel .said")).to_contain_text("have a node")
    visitor.page.wait_for_timeout(200)
    assert visitor.state("stowplan.store.focus.size") > 5


def test_theme_is_switched_and_remembered(visit: Callable[..., Visit]) -> None:
    visitor = visit()
    page = visitor.page
    page.get_by_role("button", name="Use the dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert visitor.state("stowplan.map.tokens.dark") is True
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Use the light theme").press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_keys_go_to_views_and_are_listed(page: Page) -> None:
    for key, title in (("p", "Pending"), ("q", "Queue"), ("c", "Config"), ("m", "Map")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator("nav a[aria-current]")).to_contain_text(title)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("search for nodes")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_focus_goes_through_search_tools_map_and_panel(page: Page) -> None:
    order = []
    for _ in range(24):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    places = [order.index(name) for name in ("skip", "search", "group-first", "map", "group")]
    assert places == sorted(places), order
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "panel"


def test_navigation_by_mouse_and_back_button(page: Page) -> None:
    for title in ("Pending", "Queue", "Config", "Map"):
        page.locator("nav a", has_text=title).click()
        expect(page.locator("nav a[aria-current]")).to_contain_text(title)
    page.go_back()
    expect(page.locator("nav a[aria-current]")).to_contain_text("Config")


def test_a_proposal_lights_the_nodes_that_it_opens(view: Callable[[str], Visit]) -> None:
    visitor = view(f"#/pod/media/encode-wide-{HASH}-0000")
    proposals = visitor.page.locator(".proposals li")
    opens = int(proposals.nth(1).locator(".opens").inner_text())
    assert opens > 1
    proposals.nth(1).focus()
    visitor.page.wait_for_timeout(50)
    expect(proposals.nth(1)).to_be_focused()
    for _ in range(100):
        if visitor.state("stowplan.store.focus?.size") == opens:
            break
        visitor.page.wait_for_timeout(50)
    assert visitor.state("stowplan.store.focus?.size") == opens
    proposals.nth(1).blur()
    assert visitor.state("stowplan.store.focus") is None


def test_node_lists_the_pending_pods_that_may_come(view: Callable[[str], Visit]) -> None:
    page = view("#/node/eu-west-1a-compute-0000").page
    page.get_by_text("Which pending pods may come").click()
    expect(page.locator("#panel")).to_contain_text("pending pods would fit.")
    expect(page.locator("#panel")).to_contain_text("media/encode-wide")
