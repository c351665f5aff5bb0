"""Reading as much of a Dockerfile as ours uses."""

import re
from pathlib import Path
from typing import NamedTuple

DOCKERFILE = Path(__file__).parents[2] / "deploy" / "Dockerfile"


class Stage(NamedTuple):
    """One FROM and what follows it."""

    base: str
    instructions: list[tuple[str, str]]

    def all(self, name: str) -> list[str]:
        return [text for instruction, text in self.instructions if instruction == name]

    @property
    def runs(self) -> list[str]:
        return self.all("RUN")

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for text in self.all("ENV") for pair in text.split())


def stages(text: str) -> list[Stage]:
    """The stages, in order; what comes before the first belongs to none."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    found: list[Stage] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append(Stage(rest, []))
        elif found:
            found[-1].instructions.append((name, rest.strip()))
    return found
