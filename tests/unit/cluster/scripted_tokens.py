"""Credentials that are one token after the other."""

from collections.abc import Iterator

from stowplan.cluster.connection import Identity


class Tokens:
    renewable = True

    def __init__(self, *tokens: str) -> None:
        self._tokens: Iterator[str] = iter(tokens)

    def obtain(self) -> Identity:
        return Identity({"Authorization": f"Bearer {next(self._tokens)}"})
