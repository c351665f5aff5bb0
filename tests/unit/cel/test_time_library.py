import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("duration('1h30m') == duration('90m')", True),
        ("duration('-1.5s') < duration('0s')", True),
        ("duration('1us') > duration('1ns')", True),
        ("duration('1h') + duration('1m') == duration('61m')", True),
        ("duration('1h') - duration('1m') == duration('59m')", True),
        ("duration('90s').getMinutes() == 1", True),
        ("duration('90s').getSeconds() == 90", True),
        ("duration('2h').getHours() == 2", True),
        ("string(duration('1m1.5s')) == '61.5s' && int(duration('1s')) == 1000000000", True),
        (
            "duration(device.driver) == duration('1s')",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("timestamp('2024-02-29T12:30:45.5Z').getFullYear() == 2024", True),
        ("timestamp('2024-02-29T12:30:45.5Z').getMonth() == 1", True),
        ("timestamp('2024-02-29T12:30:45Z').getDate() == 29", True),
        ("timestamp('2024-02-29T12:30:45.5Z').getDayOfMonth() == 28", True),
        ("timestamp('2024-02-29T00:00:00Z').getDayOfWeek() == 4", True),
        ("timestamp('2024-02-29T12:30:45.5Z').getMilliseconds() == 500 && timestamp(60).getMinutes() == 1", True),
        ("timestamp('2024-02-29T12:30:45Z').getHours('+02:00') == 14", True),
        ("timestamp('2024-02-29T12:30:45+02:00') == timestamp('2024-02-29T10:30:45Z')", True),
        ("timestamp(0) + duration('1h') == timestamp(3600) && timestamp(3600) - timestamp(0) == duration('1h')", True),
        ("string(timestamp(1)) == '1970-01-01T00:00:01Z' && int(timestamp(7)) == 7", True),
        (
            "timestamp(device.driver) == timestamp(0)",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
    ],
)
def test_durations_and_timestamps(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
