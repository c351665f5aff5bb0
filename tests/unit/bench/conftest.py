"""Benchmarks collect garbage again and again, which in a process full of tests takes most of their time."""

import gc

import pytest


@pytest.fixture(autouse=True)
def no_garbage_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda generation=2: 0)
