"""The part of google-re2 that is used; the package ships no types."""

from collections.abc import Iterator

class error(Exception): ...

class Options:
    max_mem: int
    log_errors: bool
    never_capture: bool

class Match:
    def span(self) -> tuple[int, int]: ...

class Regexp:
    programsize: int
    def search(self, text: str) -> Match | None: ...
    def finditer(self, text: str) -> Iterator[Match]: ...

def compile(pattern: str, options: Options | None = None) -> Regexp: ...
def purge() -> None: ...
