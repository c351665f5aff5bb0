"""The table of reason ids has all ids of the code, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import stowplan
from stowplan.framework.explanation import EXPLANATION_FAILED
from stowplan.framework.reason_ids import REASON_IDS
from stowplan.insight.insight import OTHER_SCHEDULER
from stowplan.insight.plugin_words import PLUGIN_REASON

SOURCE = Path(stowplan.__file__).parent
PREFIXES = {name.partition(".")[0] for name in REASON_IDS if "." in name}
CALLS = ("Refusal", "Because")
NOT_IDS = {"node.kubernetes.io", "volume.kubernetes.io"}


def ids_in_code() -> Iterator[str]:
    for room in ("plugins", "optional_plugins", "insight"):
        for path in (SOURCE / room).rglob("*.py"):
            for part in ast.walk(ast.parse(path.read_text())):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found = re.fullmatch(r"([a-z-]+)\.[a-z][a-z-]+", part.value)
                    if found and found[1] in PREFIXES and part.value not in NOT_IDS:
                        yield part.value
                if isinstance(part, ast.Call) and getattr(part.func, "attr", getattr(part.func, "id", "")) in CALLS:
                    for keyword in part.keywords:
                        if keyword.arg == "id" and isinstance(keyword.value, ast.Constant):
                            yield str(keyword.value.value)


def test_the_table_is_complete() -> None:
    assert {*ids_in_code(), EXPLANATION_FAILED, OTHER_SCHEDULER, PLUGIN_REASON} == set(REASON_IDS)
