"""The READMEs of the examples: every command is run as written, and its output compared."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.deploy.conftest import binary
from tests.docs.page import LANGUAGES, ROOT, Page
from tests.docs.running import Run

from stowplan.testing import ControlPlane, KubeApi, node
from stowplan.testing.binaries import cache_folder

EXAMPLES = ROOT / "examples"
PAGES = [Page(path) for path in sorted(EXAMPLES.glob("*/README.md"))]
NO_OBJECTS = {"KubeSchedulerConfiguration", "Policy"}
TUTORIALS = Page(ROOT / "docs" / "explanation" / "coming-from-the-classic-tutorials.md")
SECTIONS = re.split(r"^## ", TUTORIALS.text, flags=re.MULTILINE)[1:]
OLD = "configs-of-old-releases"
APPLIED = (
    "ConfigMap",
    "ServiceAccount",
    "apps/v1/Deployment",
    *(f"rbac.authorization.k8s.io/v1/{kind}" for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
)


def named(page: Page) -> str:
    return page.path.parent.name


def present(api: KubeApi) -> set[tuple[str, str, str]]:
    return {
        (kind, each["metadata"]["name"], each["metadata"].get("namespace", ""))
        for kind in APPLIED
        for each in api.list(kind)
    }


@pytest.fixture
def cluster(control_plane: ControlPlane, kube_api: KubeApi, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A reader's environment with a cluster: kubectl and its kubeconfig. Applied objects are deleted afterwards."""
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    (home / ".kube" / "config").write_text(control_plane.kubeconfig().read_text())
    folders = (Path(sys.executable).parent, binary("kubectl").parent, os.environ["PATH"])
    before = present(kube_api)
    kube_api.create_all([node("ant"), node("bee")])
    yield {
        "HOME": str(home),
        "KUBECONFIG": "",
        "PATH": os.pathsep.join(map(str, folders)),
        "XDG_CACHE_HOME": str(cache_folder().parents[2]),
    }
    for kind, name, namespace in present(kube_api) - before:
        kube_api.delete(kind, name, namespace)


def pages_to_run() -> Iterator[object]:
    for page in PAGES:
        marks = (pytest.mark.e2e,) if page.needs_control_plane else ()
        yield pytest.param(page, marks=(pytest.mark.slow, *marks), id=named(page))


@pytest.mark.parametrize("page", list(pages_to_run()))
def test_the_commands_of(page: Page, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In a copy of the folder, since some commands write files."""
    folder = tmp_path / named(page)
    shutil.copytree(page.path.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    Run(page, folder, request.getfixturevalue("cluster") if page.needs_control_plane else {}).run()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_command_escapes(page: Page) -> None:
    """Each command is run or gives the reason why not; the text repeats what the comments say."""
    assert page.text.count("\n```") == 2 * len(page.blocks), "a fence is not closed"
    for block in page.blocks:
        where = f"{page.name}:{block.line}"
        assert block.language in LANGUAGES, where
        assert block.marks.get("not run", "reason"), where
        if "background" in block.marks:
            assert "terminal" in block.lead, where
        if "file" in block.marks:
            assert f"`{block.marks['file']}`" in block.lead, where
            shown = page.path.parent / block.marks["file"]
            assert not shown.exists() or shown.read_text() == block.text, where


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_the_parts_of_classic_tutorials_are_here(section: str) -> None:
    """Each section names its example, and every file in its table exists there."""
    (example,) = re.findall(r"\.\./\.\./examples/([\w-]+)/README\.md", section)
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    assert all(len(row) == 2 for row in rows[:1] + rows[2:]), rows
    files = re.findall(r"`([\w./-]+\.(?:py|yaml|json))`", "".join(row[1] for row in rows[2:]))
    assert files
    assert [file for file in files if not list((EXAMPLES / example).rglob(file))] == []


def test_every_classic_tutorial_has_its_section() -> None:
    """Examples 01 to 06 follow published tutorials; each README links to its own section."""
    pages = {named(page): page for page in PAGES if "01" <= named(page) < "07"}
    anchors = {example: anchor for example, anchor in map(linked_section, pages.items()) if anchor}
    assert sorted(anchors) == sorted(pages)
    assert sorted(anchors.values()) == sorted(set(TUTORIALS.anchors) - {"coming-from-the-classic-tutorials"})


def linked_section(item: tuple[str, Page]) -> tuple[str, str]:
    example, page = item
    target = "../../docs/explanation/coming-from-the-classic-tutorials.md#"
    return example, "".join(link.removeprefix(target) for link in page.links() if link.startswith(target))


def test_configurations_of_old_releases_are_in_one_folder() -> None:
    """Beside it there is only the folder of the supported release."""
    releases = {path.name for path in EXAMPLES.glob("*/v1.*")}
    assert releases == {"v1.36"}
    assert {path.parent.name for path in EXAMPLES.glob("**/v1.*")} >= {OLD}


@pytest.mark.e2e
@pytest.mark.slow
def test_the_api_server_takes_the_manifests(kube_api: KubeApi) -> None:
    """Those of old releases as well: static pods, roles and Deployments have the same fields today."""
    strictly = {"dryRun": "All", "fieldValidation": "Strict"}
    objects = [each for path in EXAMPLES.glob("**/v1.*/*.yaml") for each in yaml.safe_load_all(path.read_text())]
    for each in objects:
        if each["kind"] not in NO_OBJECTS:
            namespace = each["metadata"].get("namespace", "")
            path = kube_api.path(f"{each['apiVersion']}/{each['kind']}", namespace=namespace)
            kube_api.request("POST", path, each, params=strictly)
