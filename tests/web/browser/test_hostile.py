"""Texts from the cluster stay text: scripts in names, labels, taints, reasons and texts of plugins never run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.browser import clusters
from tests.web.browser.site import Site
from tests.web.browser.visiting import Visit

ATTACK = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\"'><svg/onload=window.hacked=1>"
NAME = "<img src=x onerror=window.hacked=1>"
PLUGIN = f'''
from stowplan import Plugin, reject

class Hostile(Plugin):
    """{ATTACK.replace('"', "'")}"""

    name = "<b>Hostile</b>"

    def filter(self, state, pod, node):
        return reject({ATTACK!r})
'''


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster whose every free text is an attack, as files: an API server would reject some of them."""
    folder = tmp_path_factory.mktemp("hostile")
    node = clusters.node(
        f"node-{NAME}",
        4,
        8,
        {"topology.kubernetes.io/zone": ATTACK, "pool": f"a{ATTACK}", f"x/{ATTACK}": ATTACK},
        taints=[{"key": ATTACK, "value": ATTACK, "effect": "PreferNoSchedule"}],
    )
    second = clusters.node("node-2", 4, 8, {"topology.kubernetes.io/zone": "b", "pool": "b"})
    for item in (node, second):
        item["metadata"]["annotations"] = {"note": ATTACK}
    placed = clusters.pod("shop", f"web-{NAME}", f"web-{NAME}", 100, 100, nodeName=node["metadata"]["name"])
    pending = [
        clusters.pod("shop", f"wide-{NAME}", f"wide-{NAME}", 9000, 100, nodeSelector={"disk": ATTACK}),
        clusters.pod("shop", "gated", "gated", 100, 100, schedulingGates=[{"name": ATTACK}]),
        clusters.pod("shop", "refused", "refused", 100, 100),
    ]
    for item in (placed, *pending):
        item["metadata"]["annotations"] = {"note": ATTACK}
        item["metadata"]["labels"]["x"] = ATTACK
    (folder / "hostile.py").write_text(PLUGIN)
    file = clusters.write(folder / "hostile.json", [node, second, placed, *pending])
    with Site(file, "--plugin", str(folder / "hostile.py")) as site:
        yield site


def test_nothing_of_the_cluster_becomes_markup(
    hostile: Site, visit: Callable[..., Visit], artefacts: Path | None
) -> None:
    visitor = visit(at=hostile)
    page = visitor.page
    columns = hostile.answer("map")["nodes"]
    assert any(NAME in name for name in columns["name"]), "the attack has to reach the page"
    expect(page.locator("#panel-groups")).to_contain_text("onerror")
    names = hostile.pods("shop/")
    pods = [*names, "shop/gated", "shop/refused", f"shop/wide-{NAME}"]
    fragments = ["#/map", "#/pending", "#/queue", "#/config"]
    fragments += [f"#/node/{_escaped(name)}" for name in columns["name"] if name]
    fragments += [
        f"#/{view}/shop/{_escaped(name.removeprefix('shop/'))}" for name in pods for view in ("pod", "matrix")
    ]
    fragments += [f"#/workload/shop/Deployment/{_escaped(f'web-{NAME}')}"]
    for fragment in fragments:
        visitor.go(fragment)
        page.wait_for_timeout(150)
        assert page.locator("img, script:not([src]), svg[onload]").count() == 0, fragment
    visitor.screenshot(artefacts, "hostile")
    visitor.go("#/map")
    for index in (0, 1):
        x, y = page.evaluate(
            "i => { const b = stowplan.map.canvas.getBoundingClientRect(); "
            "const c = stowplan.map.centre(i); return [b.left + c[0], b.top + c[1]]; }",
            index,
        )
        page.mouse.move(x, y)
        expect(page.locator("#card")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("onerror")
    expect(page.locator("#found")).to_contain_text("onerror")
    assert page.evaluate("window.hacked") is None


def test_markup_from_a_script_is_refused(visit: Callable[..., Visit]) -> None:
    visitor = visit(expected=("TrustedHTML", "Trusted Type"))
    thrown = visitor.page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }"
    )
    assert thrown == "TypeError"


def _escaped(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
