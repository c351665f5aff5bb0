"""Types of the fields of a Scenario document, with their JSON Schemas.

The schemas are for editors. Decoding does not use them: a scenario is checked when it is compiled.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

_LENGTH: dict[str, Any] = {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h|d|w))+$"}
_LEAST_INTERVAL_SECONDS = 0.001
_DISTRIBUTIONS = ("uniform", "exponential", "lognormal", "pareto", "weibull", "normal", "choice", "empirical")
_DISTRIBUTION: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys((*_DISTRIBUTIONS, "min", "max"), True),
    "additionalProperties": False,
    "oneOf": [{"required": [name]} for name in _DISTRIBUTIONS],
}
_RANDOM = f"or one distribution of {', '.join(_DISTRIBUTIONS)}, with optional min and max."
_TIME = "Seconds, or a text such as 90s, 8h30m or 2d"


def _field(schema: dict[str, Any], description: str = "") -> Meta:
    return Meta(extra_json_schema={**schema, **({"description": description} if description else {})})


def _seconds(minimum: float) -> dict[str, Any]:
    return {"anyOf": [{"type": "number", "minimum": minimum}, _LENGTH]}


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schema["anyOf"], {"type": "null"}]}


Time = Annotated[Any, _field(_seconds(0), f"{_TIME}.")]
OptionalTime = Annotated[Any, _field(_optional(_seconds(0)), f"{_TIME}.")]
OptionalInterval = Annotated[Any, _field(_optional(_seconds(_LEAST_INTERVAL_SECONDS)), f"{_TIME}; at least 1ms.")]
Moment = Annotated[Any, _field({"anyOf": [*_optional(_seconds(0))["anyOf"], {"const": "end"}]}, f"{_TIME}.")]
Interval = Annotated[Any, _field(_seconds(_LEAST_INTERVAL_SECONDS), f"{_TIME}; at least 1ms.")]
Rate = Annotated[
    Any,
    _field(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/(ms|s|m|h|d|w)$"},
                {"type": "null"},
            ]
        },
        "A rate such as 40/h.",
    ),
]
RandomTime = Annotated[Any, _field({"anyOf": [*_seconds(0)["anyOf"], _DISTRIBUTION]}, f"{_TIME}, {_RANDOM}")]
OptionalRandomTime = Annotated[
    Any, _field({"anyOf": [*_seconds(0)["anyOf"], _DISTRIBUTION, {"type": "null"}]}, f"{_TIME}, {_RANDOM}")
]
RandomCount = Annotated[
    Any, _field({"anyOf": [{"type": "number", "minimum": 0}, _DISTRIBUTION]}, f"A number, {_RANDOM}")
]
Count = Annotated[int, _field({"minimum": 0})]
UserCount = Annotated[int, _field({"minimum": 1})]
Name = Annotated[str, _field({"minLength": 1})]
Share = Annotated[float, _field({"minimum": 0, "maximum": 1})]
Percentage = Annotated[float, _field({"minimum": 0, "maximum": 100})]
Amount = Annotated[float, _field({"minimum": 0})]
PositiveAmount = Annotated[float, _field({"exclusiveMinimum": 0})]
PodLimit = Annotated[
    Any, _field({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\d{1,4}%$"}]})
]
Bound = Annotated[
    Any,
    _field({"type": ["number", "string", "null"]}, "A number, a time such as 5m, or a percentage such as 60%."),
]


def one_of(*names: str) -> Meta:
    """The texts that a field may have."""
    return _field({"enum": list(names)})
