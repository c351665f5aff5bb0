"""A class name means one thing in the whole tree."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import stowplan

WITH_TWO_MEANINGS = {
    "Cluster": "the scheduler's state, and the library's value",
    "Extender": "the configuration's entry, and what the engine calls",
    "NodeAffinity": "Kubernetes' field, and the plugin",
    "Plugin": "the configuration's entry, and the base class",
    "Pod": "Kubernetes' object, and the form in which plugins read it",
    "Profile": "the configuration's entry, and what is built from it",
    "Rule": "of an explanation, and of a fault proxy",
}


def test_public_class_names_are_unique() -> None:
    sources = (path.read_text() for path in Path(stowplan.__file__).parent.rglob("*.py"))
    names = Counter(name for source in sources for name in re.findall(r"^class ([A-Z]\w*)", source, re.M))
    assert {name for name, count in names.items() if count > 1} == set(WITH_TWO_MEANINGS)
