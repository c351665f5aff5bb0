import io
import json
import logging
from collections.abc import Iterator

import pytest

from stowplan import logs
from stowplan.logs.log import LogOptions, parse_vmodule


class Streams:
    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()

    def configure(self, **options: object) -> None:
        logs.configure(LogOptions(**options), stdout=self.out, stderr=self.err)  # type: ignore[arg-type]


@pytest.fixture
def streams() -> Iterator[Streams]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger("stowplan").level
    yield Streams()
    logs.configure(LogOptions())
    logging.getLogger().handlers[:] = handlers
    logging.getLogger("stowplan").setLevel(level)


def test_only_what_is_wanted_is_said(streams: Streams) -> None:
    streams.configure(verbosity=2)
    log = logs.get("stowplan.some.module")
    log.v(2, "loud enough", n=1)
    log.v(3, "too quiet")
    log.info("always")
    assert [line.partition("] ")[2] for line in streams.err.getvalue().splitlines()] == [
        '"loud enough" n=1',
        '"always"',
    ]


def test_the_place_is_that_of_the_caller(streams: Streams) -> None:
    streams.configure()
    logs.get("x").info("here")
    logs.get("x").error(None, "there")
    assert streams.err.getvalue().count(" test_log.py:") == 2


@pytest.mark.parametrize(("say", "severity"), [("info", "I"), ("warning", "W")])
def test_severities(streams: Streams, say: str, severity: str) -> None:
    streams.configure()
    getattr(logs.get("x"), say)("hello")
    assert streams.err.getvalue().startswith(severity)


def test_an_error_says_why(streams: Streams) -> None:
    streams.configure()
    logs.get("x").error(OSError("gone"), "Failed", file="f")
    line = streams.err.getvalue()
    assert line.startswith("E")
    assert line.endswith('"Failed" err="gone" file="f"\n')


@pytest.mark.parametrize(
    ("rules", "name", "verbosity"),
    [
        ("log_lines=4", "stowplan.observe.log_lines", 4),
        ("log_*=4", "stowplan.observe.log_lines", 4),
        ("host=4", "stowplan.observe.log_lines", 1),
        ("log_lines=0", "stowplan.observe.log_lines", 1),
        ("stowplan/observe/*=5", "stowplan.observe.log_lines", 5),
        ("other=9,log_lines=3", "stowplan.observe.log_lines", 3),
    ],
)
def test_single_files_can_say_more(streams: Streams, rules: str, name: str, verbosity: int) -> None:
    streams.configure(verbosity=1, vmodule=parse_vmodule(rules))
    assert logs.get(name).verbosity == verbosity


def test_the_level_can_change_while_running(streams: Streams) -> None:
    streams.configure()
    log = logs.get("x")
    logs.set_verbosity(4)
    assert (log.verbosity, logs.get("made later").verbosity) == (4, 4)


def test_json(streams: Streams) -> None:
    streams.configure(format="json")
    logs.get("x").info("hello", n=1)
    told = json.loads(streams.err.getvalue())
    assert (told["msg"], told["n"], told["v"]) == ("hello", 1, 0)


def test_streams_can_be_split(streams: Streams) -> None:
    streams.configure(text_split_stream=True)
    logs.get("x").info("fine")
    logs.get("x").error(None, "not fine")
    assert '"fine"' in streams.out.getvalue()
    assert '"not fine"' in streams.err.getvalue()


def test_pythons_own_logging_joins_in(streams: Streams) -> None:
    streams.configure()
    try:
        raise ValueError("oops")
    except ValueError:
        logging.getLogger("stowplan.queue").exception("pod %s failed", "default/p")
    text = streams.err.getvalue()
    assert text.startswith("E")
    assert "] pod default/p failed stacktrace=<\n" in text
    assert "ValueError: oops" in text


def test_without_configuration_lines_go_to_pythons_logging(caplog: pytest.LogCaptureFixture) -> None:
    log = logs.get("stowplan.some.module")
    log.info("Not enabled at this level")
    log.warning("Failed to watch", resource="pods", err=ValueError("down"))
    log.error("no idea", "Error updating pod", pod=logs.ref("default/p"))
    assert caplog.messages == ["Failed to watch: down (resource=pods)", "Error updating pod: no idea (pod=default/p)"]
    assert {record.name for record in caplog.records} == {"stowplan.some.module"}
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR]
    assert {record.filename for record in caplog.records} == {"test_log.py"}


def test_an_unexpected_exception_has_its_stack_trace(streams: Streams, caplog: pytest.LogCaptureFixture) -> None:
    error = ValueError("oops")
    logs.get("x").exception(error, "PostBind failed", node="n1")
    assert caplog.messages == ["PostBind failed: oops (node=n1)"]
    assert caplog.records[0].exc_text == "ValueError: oops"
    streams.configure(format="json")
    logs.get("x").exception(error, "PostBind failed", node="n1")
    fields = json.loads(streams.err.getvalue())
    assert (fields["err"], fields["stacktrace"], fields["node"]) == ("oops", "ValueError: oops", "n1")


def test_references_by_key() -> None:
    assert logs.ref("default/p") == logs.ObjectRef("default", "p")
    assert str(logs.ref("n1")) == "n1"


def test_configuring_twice_does_not_say_everything_twice(streams: Streams) -> None:
    streams.configure()
    streams.configure()
    logging.getLogger("stowplan.queue").error("once")
    assert streams.err.getvalue().count("once") == 1


def test_logging_to_a_closed_stream_does_not_raise(streams: Streams) -> None:
    streams.configure()
    streams.err.close()
    logs.get("x").info("into the void")
    assert streams.err.closed


@pytest.mark.parametrize("text", ["foo", "=3", "foo=x", "foo=-1"])
def test_rules_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"pattern=N|parsing verbosity"):
        parse_vmodule(text)
