import re
from typing import Any

import pytest

from stowplan.config import Duration
from stowplan.config.flags.values import (
    BOOL,
    DURATION,
    FLOAT32,
    INT,
    INT32,
    INTS,
    IP,
    LEVEL,
    LEVELS,
    LIST,
    PAIRS,
    QUANTITY,
    VERSION,
    FlagType,
)


@pytest.mark.parametrize(
    ("kind", "text", "value", "shown"),
    [
        (BOOL, "T", True, "true"),
        (BOOL, "0", False, "false"),
        (INT, "0x10", 16, "16"),
        (INT32, "-5", -5, "-5"),
        (FLOAT32, "50", 50.0, "50"),
        (FLOAT32, "0.5", 0.5, "0.5"),
        (DURATION, "90s", Duration.of_seconds(90), "1m30s"),
        (IP, " ::1 ", "::1", "::1"),
        (LIST, 'a,"b,c"', ("a", "b,c"), "[a,b,c]"),
        (LIST, "", (), "[]"),
        (INTS, "29,23", (29, 23), "[29,23]"),
        (PAIRS, "m,l=v1,v2", (("m,l", "v1,v2"),), "[m,l=v1,v2]"),
        (PAIRS, '"m,l=v1,v2","n,l=v"', (("m,l", "v1,v2"), ("n,l", "v")), "[m,l=v1,v2,n,l=v]"),
        (QUANTITY, "2Ki", "2Ki", "2Ki"),
        (LEVEL, "4", 4, "4"),
        (LEVELS, "host=2,narration=4", (("host", 2), ("narration", 4)), "host=2,narration=4"),
        (VERSION, "raw", "raw", "raw"),
        (VERSION, "true", "true", "true"),
    ],
)
def test_reading_and_showing(kind: FlagType, text: str, value: Any, shown: str) -> None:
    assert kind.read(text) == value
    assert kind.show(value) == shown


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (BOOL, "maybe", 'strconv.ParseBool: parsing "maybe": invalid syntax'),
        (BOOL, "", 'strconv.ParseBool: parsing "": invalid syntax'),
        (INT, "1_000", 'strconv.ParseInt: parsing "1_000": invalid syntax'),
        (INT, "x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        (INT32, "99999999999", 'strconv.ParseInt: parsing "99999999999": value out of range'),
        (LEVEL, "-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        (FLOAT32, "1e50", 'strconv.ParseFloat: parsing "1e50": value out of range'),
        (FLOAT32, "x", 'strconv.ParseFloat: parsing "x": invalid syntax'),
        (DURATION, "5", 'time: missing unit in duration "5"'),
        (IP, "example.com", 'failed to parse IP: "example.com"'),
        (PAIRS, "foo", "foo must be formatted as key=value"),
        (VERSION, "foo", 'strconv.ParseBool: parsing "foo": invalid syntax'),
        (LEVELS, "foo", '"foo" does not have the pattern=N format'),
    ],
)
def test_what_is_no_value(kind: FlagType, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        kind.read(text)
