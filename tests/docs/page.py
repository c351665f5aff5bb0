"""Parses a Markdown page: headings, links, fenced blocks, and the comments about them.

A comment right before a block is an instruction for the test:

    <!-- not run: needs a cluster -->        the block is not executed, for this reason
    <!-- file: rack_care.py -->              the block is the content of that file
    <!-- status: 3 -->                       the command ends with this exit status, not with 0
    <!-- background: 127.0.0.1:12800 -->     the command runs while the rest of the page is run; wait for the port,
                                             which the test replaces by a free one wherever the page names it

Without a comment, `sh`, `console` and `python` blocks are executed from top to bottom, in one folder per page.
A `text` or `json` block right after a command is its output, and so are the lines without `$` in `console` blocks;
`…` matches anything, and alone on a line any lines. `<!-- control plane -->` marks a page that needs one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = ("sh", "console", "python", "text", "json", "yaml", "toml", "diff", "dockerfile")
MARKS = ("not run", "file", "status", "background")

FENCE = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- *(?P<mark>[a-z ]+?) *(?:: *(?P<value>.*?) *)?-->", re.DOTALL)
_BEFORE = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+\Z", re.DOTALL)
_ANY_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?\)")
INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int
    marks: Mapping[str, str] = field(default_factory=dict)
    after_previous: bool = False
    """Whether it directly follows the previous block."""
    lead: str = ""
    """The text between it and the previous block, without comments."""


class Page:
    """One file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def blocks(self) -> list[Block]:
        blocks: list[Block] = []
        end = 0
        for fence in FENCE.finditer(self.text):
            between = self.text[end : fence.start()]
            comments = _BEFORE.search(between)
            marks = {
                comment["mark"]: comment["value"] or ""
                for comment in _COMMENT.finditer(comments[0] if comments else "")
                if comment["mark"] in MARKS
            }
            line = self.text.count("\n", 0, fence.start()) + 1
            adjacent = bool(blocks) and not between.strip()
            lead = _ANY_COMMENT.sub("", between)
            blocks.append(Block(fence["language"].strip(), fence["text"], line, marks, adjacent, lead))
            end = fence.end()
        return blocks

    @property
    def needs_control_plane(self) -> bool:
        return "<!-- control plane -->" in self.text

    @cached_property
    def prose(self) -> str:
        """The page without its blocks."""
        return FENCE.sub("", self.text)

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """The headings in their order, as GitHub names them in links after `#`."""
        found: dict[str, int] = {}
        names = []
        for heading in _HEADING.findall(self.prose):
            slug = _slug(heading)
            count = found[slug] = found.get(slug, -1) + 1
            names.append(f"{slug}-{count}" if count else slug)
        return tuple(names)

    def links(self) -> Iterator[str]:
        yield from _LINK.findall(INLINE_CODE.sub("", self.prose))


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def documentation() -> list[Page]:
    """README.md and docs/, with their translations. The blocks of these pages are run."""
    return [Page(path) for path in (ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").rglob("*.md")))]


def all_pages() -> list[Page]:
    """Every page of the project, for links."""
    others = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for folder in ("benchmarks", "deploy", "examples"):
        others += sorted((ROOT / folder).rglob("*.md"))
    return [*documentation(), *(Page(path) for path in others if path.exists())]
