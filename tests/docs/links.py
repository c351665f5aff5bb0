"""Links: each must lead to something that is there, and every page of docs/ must be led to from the README."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.docs.page import ROOT, Page

ELSEWHERE = ("https://", "http://", "mailto:")


def dead_links(pages: Sequence[Page]) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    by_path = {page.path: page for page in pages}
    for page in pages:
        for link in page.links():
            if link.startswith(ELSEWHERE):
                continue
            path, anchor = resolve(page, link)
            if not path.exists():
                yield f"{page.name}: {link}: there is no such file"
            elif anchor and path in by_path and anchor not in by_path[path].anchors:
                yield f"{page.name}: {link}: there is no such heading"


def resolve(page: Page, link: str) -> tuple[Path, str]:
    """(the file that a link leads to, the heading in it)."""
    target, _, anchor = link.partition("#")
    return ((page.path.parent / target).resolve() if target else page.path), anchor


def orphans(pages: Sequence[Page]) -> list[str]:
    """Pages of docs/ that are not reachable from the README."""
    by_path = {page.path: page for page in pages}
    waiting, found = [ROOT / "README.md"], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in found or path not in by_path:
            continue
        found.add(path)
        waiting += [resolve(by_path[path], link)[0] for link in by_path[path].links() if not link.startswith(ELSEWHERE)]
    return [page.name for page in pages if page.path not in found and page.name.startswith("docs/")]
