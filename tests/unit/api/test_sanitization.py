"""Every annotation that the code reads survives sanitization."""

import re
from pathlib import Path

import stowplan
from stowplan.api.sanitization import READ_ANNOTATIONS
from stowplan.cache import volumes
from stowplan.plugins.dynamic_resources.assume_cache import SPECIAL_CLAIM

SOURCE = Path(stowplan.__file__).parent


def test_annotations_of_volumes_and_claims_survive() -> None:
    named = {
        volumes.BIND_COMPLETED,
        volumes.BOUND_BY_CONTROLLER,
        volumes.MIGRATED_PLUGINS,
        volumes.SELECTED_NODE,
        volumes.STORAGE_CLASS,
        SPECIAL_CLAIM,
    }
    assert named <= READ_ANNOTATIONS


def test_no_annotation_survives_that_the_code_does_not_name() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.name != "sanitization.py"]
    texts = set(re.findall(r'"([a-z.\-]+[a-z/\-.]*)"', "\n".join(path.read_text() for path in files)))
    assert texts >= READ_ANNOTATIONS
