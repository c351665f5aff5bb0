"""The loaders by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from stowplan.errors import InputError
from stowplan.traces.batch_tasks import Alibaba2018, Azure2020, Google2019
from stowplan.traces.job_lists import Helios, Philly, Swf
from stowplan.traces.loader import TraceLoader
from stowplan.traces.openb import Openb
from stowplan.traces.recorded_pods import RecordedPods
from stowplan.traces.user_loaders import FORMS, is_class_name, load_class

_HERE = Path()

LOADERS: dict[str, type[TraceLoader]] = {
    loader.name: loader for loader in (Openb, Alibaba2018, Google2019, Azure2020, Philly, Helios, Swf, RecordedPods)
}


def open_trace(
    loader: str | type[TraceLoader],
    source: str | Path,
    options: Mapping[str, Any] | None = None,
    *,
    folder: Path = _HERE,
) -> TraceLoader:
    """The loader of a trace, with its options as in a scenario: by name, by class, or as a text that names a class,
    such as ./mine.py:Mine, whose file is relative to the folder. Raises InputError."""
    if isinstance(loader, str) and is_class_name(loader):
        loader = load_class(loader, folder)
    elif isinstance(loader, str):
        if loader not in LOADERS:
            near = get_close_matches(loader, LOADERS, 1)
            advice = f"did you mean {near[0]}?" if near else f"one of {', '.join(LOADERS)}, or {FORMS}"
            raise InputError(f'unknown trace loader "{loader}": {advice}')
        loader = LOADERS[loader]
    try:
        given = msgspec.convert(dict(options or {}), loader.Options)
    except msgspec.ValidationError as problem:
        raise InputError(f"options of trace loader {loader.name or loader.__name__}: {problem}") from None
    return loader(Path(source), given)
