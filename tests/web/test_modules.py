"""The page's modules: rules that the report's concatenation relies on, and the vendored library."""

import gzip
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("stowplan.web") / "static"))
OUTSIDE_REPORTS = {"boot.js", "old.js"}
MODULES = sorted(path.name for path in STATIC.glob("*.js") if path.name not in OUTSIDE_REPORTS)
IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([^']+)';$", re.M)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|let|class) (\w+)", re.M)
MAX_LINES = 300
MAX_FIRST_BYTES = 70_000
MAX_OWN_BYTES = 120_000
VENDORED = {
    "uplot.js": ("19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f", "\nexport { uPlot };\n"),
    "uplot.css": ("df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04", ""),
}


def source(name: str) -> str:
    return (STATIC / name).read_text()


def imports(name: str) -> dict[str, list[str]]:
    return {
        module: [part.strip() for part in names.split(",") if part.strip()]
        for names, module in IMPORT.findall(source(name))
    }


def reachable(name: str) -> set[str]:
    """A module and all that it imports."""
    if name.startswith("vendor/"):
        return {name}
    return {name}.union(*(reachable(module) for module in imports(name)))


@pytest.mark.parametrize("name", MODULES)
def test_module_follows_the_rules(name: str) -> None:
    text = source(name)
    assert text.startswith("// "), "a comment on top says what belongs in the module"
    assert text.count("\n") <= MAX_LINES
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert len(re.findall(r"^import ", text, re.M)) == len(IMPORT.findall(text)), (
        "named imports from relative paths only"
    )
    assert not re.search(r"^export (default|\{|\*)", text, re.M), "exports are named where they are declared"
    assert not re.search(r"\bimport\(", text)


def test_exports_are_unique_and_imports_exist() -> None:
    exported = {name: set(EXPORT.findall(source(name))) for name in MODULES} | {"vendor/uplot.js": {"uPlot"}}
    names = [export for exports in exported.values() for export in exports]
    assert len(names) == len(set(names))
    for name in MODULES:
        for module, wanted in imports(name).items():
            assert set(wanted) <= exported[module], f"{name} imports from {module}"
            for imported in wanted:
                assert len(re.findall(rf"\b{imported}\b", source(name))) > 1, f"{name} does not use {imported}"


def test_imports_have_no_cycles() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a cycle: {path}"
        if name in done or name.startswith("vendor/"):
            return
        for module in imports(name):
            visit(module, (*path, name))
        done.add(name)

    for name in MODULES:
        visit(name, ())


def test_page_preloads_the_first_modules_and_has_no_inline_code() -> None:
    text = source("index.html")
    assert re.findall(r'modulepreload" href="static/([^"]+)"', text) == sorted(reachable("app.js"))
    assert reachable("app.js") | reachable("views.js") == {*MODULES, "vendor/uplot.js"}
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*src=)|https?:", text)


def test_style_sheets_load_nothing_from_elsewhere() -> None:
    for name in ("app.css", "views.css", "vendor/uplot.css"):
        assert not re.search(r"@import|url\((?!chevron\.svg)", source(name))


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_file_is_the_released_one(name: str) -> None:
    digest, added = VENDORED[name]
    text = source(f"vendor/{name}")
    assert text.endswith(added)
    assert hashlib.sha256(text.removesuffix(added).encode()).hexdigest() == digest
    assert digest in source("vendor/README")
    assert "MIT" in source("vendor/LICENSE.uplot")


def test_own_code_stays_small() -> None:
    """The first picture needs 150 kB with the map of 5,000 nodes, which takes 44 of them."""
    first = {*reachable("app.js"), "index.html", "app.css", "views.css", "vendor/uplot.css"}
    assert sum(len(gzip.compress(source(name).encode(), 6)) for name in first) <= MAX_FIRST_BYTES
    assert sum(len(gzip.compress(source(name).encode(), 6)) for name in MODULES) <= MAX_OWN_BYTES


def lightness(colour: str) -> float:
    """L* of #rrggbb."""
    values = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return float(116 * (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]) ** (1 / 3) - 16)


@pytest.mark.parametrize("theme", [0, 1])
def test_stacked_series_differ_in_lightness_for_every_colour_vision(theme: int) -> None:
    style = source("app.css")
    names = ("unschedulable", "backoff", "active", "gated")
    found = [lightness(re.findall(rf"--{name}: (#\w{{6}})", style)[theme]) for name in names]
    assert all(abs(a - b) >= 15 for number, a in enumerate(found) for b in found[:number]), found
