"""States of the page: few nodes, long names, many pending pods, a lost server, no stream, no rights, old browsers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from tests.web.browser import clusters
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

LONG = 253
PENDING_POD = f"#/pod/media/encode-wide-{clusters.HASH}-0000"
MANY_PENDING = 10_000


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, list[clusters.Manifest]], Site]]:
    """Starts servers for small clusters."""
    running: list[Site] = []

    def start(name: str, items: list[clusters.Manifest]) -> Site:
        site = Site(clusters.write(tmp_path_factory.mktemp(name) / f"{name}.json", items))
        site.start()
        running.append(site)
        return site

    yield start
    for site in running:
        site.stop()


Start = Callable[[str, list[clusters.Manifest]], Site]


def test_cluster_without_nodes(small: Start, visit: Callable[..., Visit], artefacts: Path | None) -> None:
    site = small("empty", [clusters.pod("shop", "web-1", "web", 100, 100)])
    visitor = visit(at=site)
    page = visitor.page
    expect(page.locator("#map-empty")).to_contain_text("No nodes yet")
    expect(page.locator("#panel-groups")).to_contain_text("There are no nodes")
    visitor.screenshot(artefacts, "empty")
    for fragment in ("#/pending", "#/queue", "#/config", "#/pod/shop/web-1", "#/map"):
        visitor.go(fragment)
        page.wait_for_timeout(150)
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")


def test_one_node_and_the_longest_names(small: Start, visit: Callable[..., Visit], artefacts: Path | None) -> None:
    name = ("n" * 63 + ".") * 3 + "n" * (LONG - 192)
    pod = ("p" * 63 + ".") * 3 + "p" * (LONG - 192)
    labels = {"topology.kubernetes.io/zone": "z" * 63}
    node = clusters.node(name, 4, 8, labels)
    site = small(
        "one",
        [
            node,
            clusters.pod("shop", pod, "w" * 200, 100, 100, nodeName=name),
            clusters.pod("n" * 63, pod, "w" * 200, 9000, 100),
        ],
    )
    for width in (1600, 390):
        visitor = visit(at=site, width=width)
        page = visitor.page
        expect(page.locator("#panel-title")).to_contain_text("1 pod is pending")
        visitor.screenshot(artefacts, f"one-{width}")
        for fragment in (
            f"#/node/{name}",
            f"#/pod/{'n' * 63}/{pod}",
            f"#/matrix/{'n' * 63}/{pod}",
            "#/pending",
            "#/queue",
        ):
            visitor.go(fragment)
            page.wait_for_timeout(250)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, fragment
        visitor.screenshot(artefacts, f"one-queue-{width}")


def test_many_pending_pods_scroll_with_few_elements(small: Start, visit: Callable[..., Visit]) -> None:
    pods = [clusters.pod("shop", f"web-{index:05d}", "web", 9000, 100) for index in range(MANY_PENDING)]
    site = small("many", [clusters.node("node-1", 4, 8, {}), *pods])
    visitor = visit("#/pending", at=site)
    page = visitor.page
    expect(page.locator("#pending-title")).to_contain_text("10,000 pending pods")
    assert {group["verdict"] for group in site.answer("pending")["groups"]} == {"never"}
    page.locator(".virtual").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    expect(page.locator(".virtual-row").last).to_contain_text("web-09999")
    assert page.evaluate("document.querySelectorAll('*').length") < 3000


def test_restarted_server_is_noticed_and_found_again(
    small: Start, visit: Callable[..., Visit], artefacts: Path | None
) -> None:
    items = [clusters.node("node-1", 4, 8, {}), clusters.pod("shop", "web-1", "web", 9000, 100)]
    site = small("restarted", items)
    visitor = visit(at=site, expected=("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "failed: ", "ERR_EMPTY"))
    page = visitor.page
    expect(page.locator("html")).to_have_attribute("data-connection", "live")
    site.stop()
    expect(page.locator("#notice")).to_contain_text("No news since")
    visitor.screenshot(artefacts, "lost")
    page.locator("nav a", has_text="Pending").click()
    expect(page.locator("#pending-title")).to_contain_text("1 pending pod")
    clusters.write(site.file, [*items, clusters.node("node-2", 4, 8, {})])
    site.start()
    expect(page.locator("#notice")).to_contain_text("Connected again")
    assert visitor.state("stowplan.store.nodes.names.filter(Boolean).length") == 2


def test_browser_without_event_source_polls(visit: Callable[..., Visit], site: Site, browser: object) -> None:
    visitor = visit()
    visitor.context.add_init_script("delete window.EventSource;")
    visitor.page.clock.install()
    visitor.page.reload()
    expect(visitor.page.locator("html")).to_have_attribute("data-connection", "polling")
    with visitor.page.expect_response("**/api/v1/map", timeout=12_000):
        visitor.page.clock.fast_forward(5100)


def test_server_without_a_free_stream_is_polled(visit: Callable[..., Visit]) -> None:
    visitor = visit(expected=("503", "EventSource"))
    refuse = lambda route: route.fulfill(status=503, headers={"Retry-After": "5"}, body="{}")  # noqa: E731
    visitor.page.route("**/api/v1/events**", refuse)
    visitor.page.reload()
    expect(visitor.page.locator("html")).to_have_attribute("data-connection", "polling")


@pytest.mark.parametrize(
    ("status", "text"), [(403, "RBAC YAML"), (401, "stowplan web printed"), (500, "could not be loaded")]
)
def test_refused_page_says_why_and_nothing_else(
    visit: Callable[..., Visit], artefacts: Path | None, status: int, text: str
) -> None:
    visitor = visit(expected=(str(status),))

    def refuse(route: Route) -> None:
        body = '{"kind": "Status", "message": "user \\"eve\\" cannot list pods", "reason": "Forbidden"}'
        route.fulfill(status=status, content_type="application/json", body=body)

    visitor.page.route("**/api/v1/**", refuse)
    visitor.page.reload()
    expect(visitor.page.locator("#notice")).to_contain_text(text)
    expect(visitor.page.locator("#notice")).to_contain_text('user "eve" cannot list pods')
    expect(visitor.page.locator("#panel")).to_be_empty()
    visitor.screenshot(artefacts, f"refused-{status}")


def test_missing_pod_and_node_are_said_in_the_panel(visit: Callable[..., Visit]) -> None:
    visitor = visit("#/pod/shop/no-such-pod", expected=("404",))
    expect(visitor.page.locator("#panel")).to_contain_text("no-such-pod")
    visitor.go("#/node/no-such-node")
    expect(visitor.page.locator("#panel .section")).to_contain_text("no-such-node")
    visitor.go("#/nothing/here")
    expect(visitor.page.locator("#panel-title")).to_contain_text("pending")


def test_old_browser_gets_one_sentence(visit: Callable[..., Visit]) -> None:
    visitor = visit()
    visitor.context.add_init_script("delete Element.prototype.replaceChildren;")
    visitor.page.reload()
    expect(visitor.page.locator("#too-old")).to_contain_text("needs a browser")


def test_reduced_motion_and_forced_colours(visit: Callable[..., Visit], artefacts: Path | None) -> None:
    visitor = visit(forced_colors="active")
    expect(visitor.page.locator("#panel-title")).to_contain_text("pending")
    visitor.screenshot(artefacts, "forced-colours")
    visitor.page.evaluate("() => import('./static/map.js').then(m => m.flashSlots([1, 2]))")
    assert visitor.state("stowplan.map.flashes.size") == 0


def test_text_of_double_size_reflows(visit: Callable[..., Visit], artefacts: Path | None) -> None:
    """A window of 1,280 pixels at 200 % has 640 pixels of CSS."""
    visitor = visit(PENDING_POD, width=640, device_scale_factor=2)
    expect(visitor.page.locator("#panel .sentence")).to_be_visible()
    visitor.screenshot(artefacts, "zoom-200")
    assert visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("deficiency", ["deuteranopia", "protanopia", "tritanopia", "achromatopsia"])
def test_refusals_differ_for_every_colour_vision(
    view: Callable[[str], Visit], artefacts: Path | None, deficiency: str
) -> None:
    """Nodes that the filters reject for other reasons have other colours on the screen, near misses most of all."""
    visitor = view(PENDING_POD)
    page = visitor.page
    expect(page.locator("#colour")).to_have_value("refuses")
    session = visitor.context.new_cdp_session(page)
    session.send("Emulation.setEmulatedVisionDeficiency", {"type": deficiency})
    visitor.screenshot(artefacts, f"pod-{deficiency}")
    session.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    words = page.evaluate("() => [...document.querySelectorAll('#legend .key')].map(key => key.textContent)")
    assert len(set(words)) == len(words) >= 3, "the legend has words for every colour"


def test_pinch_zooms_and_drag_pans_by_touch(visit: Callable[..., Visit]) -> None:
    visitor = visit(width=820, has_touch=True)
    session = visitor.context.new_cdp_session(visitor.page)

    def touch(kind: str, *points: tuple[int, int]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", (200, 400), (240, 400))
    for step in range(1, 6):
        touch("touchMove", (200 - 15 * step, 400), (240 + 15 * step, 400))
    touch("touchEnd")
    visitor.page.wait_for_timeout(100)
    assert visitor.state("stowplan.map.zoom") > 1.5
    before = visitor.state("stowplan.map.x")
    touch("touchStart", (300, 400))
    for step in range(1, 6):
        touch("touchMove", (300 - 12 * step, 400))
    touch("touchEnd")
    visitor.page.wait_for_timeout(100)
    assert visitor.state("stowplan.map.x") > before + 30


def test_a_link_on_a_page_of_another_site_logs_in(site: Site, browser: Browser) -> None:
    context = browser.new_context()
    link = f'<!doctype html><a href="{site.login}">the page</a>'
    context.route("http://elsewhere.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page = context.new_page()
    page.goto("http://elsewhere.example/")
    page.get_by_role("link").click()
    page.locator("html[data-ready]").wait_for(state="attached")
    assert page.url.startswith(f"{site.origin}/")
    assert "token" not in page.url
    context.close()
