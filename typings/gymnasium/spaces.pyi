from typing import Any

class Box:
    def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None, dtype: Any = ...) -> None: ...

class Discrete:
    def __init__(self, n: int) -> None: ...

class Dict:
    def __init__(self, spaces: dict[str, Any]) -> None: ...
