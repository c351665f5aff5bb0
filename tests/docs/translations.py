"""Translated pages: the README and the tutorial in Chinese, with the structure and the blocks of the English pages.

`python -m tests.docs` copies changed blocks of an English page into its translation. Headings, links and sentences are
translated by hand; the tests fail until they correspond.
"""

import re
from pathlib import Path

from tests.docs.links import ELSEWHERE, resolve
from tests.docs.page import FENCE, INLINE_CODE, ROOT, Page

TRANSLATED = {
    ROOT / "README.md": ROOT / "README.zh.md",
    **{
        path: ROOT / "docs" / "zh" / "tutorial" / path.name
        for path in sorted((ROOT / "docs" / "tutorial").glob("*.md"))
    },
}
"""English pages and their translations."""

_ORIGINALS = {translation: original for original, translation in TRANSLATED.items()}
_LINK_TARGET = re.compile(r"\]\([^)]*\)")
_ELEMENT = re.compile(r"^(#{1,6}|[-*]|\d+\.|\|)(?= |-)|^(?:<!--.*?-->)$|^```\w*$", re.MULTILINE | re.DOTALL)


def is_translation(page: Page) -> bool:
    return page.path in _ORIGINALS


def with_blocks_of(original: Page, translation: Page) -> str:
    """The translation with the blocks of the original, if both have the same number of blocks."""
    blocks = [fence[0] for fence in FENCE.finditer(original.text)]
    if len(blocks) != len(translation.blocks):
        return translation.text
    replacements = iter(blocks)
    return FENCE.sub(lambda _: next(replacements), translation.text)


def outline(page: Page) -> list[str]:
    """Headings, list items, table rows, comments and fences in their order, without the text."""
    text = FENCE.sub(lambda fence: f"```{fence['language']}", page.text)
    return [found[0] for found in _ELEMENT.finditer(text)]


def targets(page: Page) -> list[tuple[Path, int]]:
    """(English page, number of the heading) of each link; links to other sites are left out."""
    return sorted(_target(page, link) for link in page.links() if not link.startswith(ELSEWHERE))


def _target(page: Page, link: str) -> tuple[Path, int]:
    path, anchor = resolve(page, link)
    number = list(Page(path).anchors).index(anchor) if anchor else -1
    return _ORIGINALS.get(path, path), number


def facts(page: Page) -> list[str]:
    """Inline code and numbers of the text."""
    code = [found[0] for found in INLINE_CODE.finditer(page.prose)]
    numbers = re.findall(r"\d(?:[\d.,]*\d)?", INLINE_CODE.sub("", _LINK_TARGET.sub("]", page.prose)))
    return sorted(code + numbers)


def pairs() -> list[tuple[Page, Page]]:
    """(English page, translation)."""
    return [(Page(original), Page(translation)) for original, translation in TRANSLATED.items()]
