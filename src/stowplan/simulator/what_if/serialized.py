"""Answers as JSON and YAML."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.simulator.what_if.profile_changes import OtherSetup
from stowplan.simulator.what_if.records import DiffAnswer, WhatIfAnswer
from stowplan.simulator.what_if.workload_changes import ApplyManifests


def to_json(answer: WhatIfAnswer | DiffAnswer) -> bytes:
    """One JSON object."""
    return msgspec.json.format(msgspec.json.encode(plain(answer)), indent=2) + b"\n"


def to_yaml(answer: WhatIfAnswer | DiffAnswer) -> bytes:
    """One YAML document."""
    from stowplan.config import yaml_text

    return yaml_text.dump(plain(answer)).encode()


def raw_json(answer: WhatIfAnswer | DiffAnswer) -> msgspec.Raw:
    """The JSON as a part of a larger one; takes a tenth of the answer's memory."""
    return msgspec.Raw(msgspec.json.encode(plain(answer)))


def plain(answer: WhatIfAnswer | DiffAnswer) -> Any:
    """Plain data, without the parts of changes that are not data."""
    if isinstance(answer, WhatIfAnswer):
        changes = tuple(_plain_change(change) for change in answer.changes)
        answer = msgspec.structs.replace(answer, changes=changes)
    return msgspec.to_builtins(answer)


def _plain_change(change: Any) -> Any:
    if isinstance(change, OtherSetup):
        return {"config": change.config, "plugins": list(change.plugins)}
    if isinstance(change, ApplyManifests):
        return {"apply": change.apply_}
    return change
