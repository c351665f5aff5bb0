import pytest

from stowplan.config.flags.command_line import CommandLine, usage
from stowplan.config.flags.table import FLAGS
from stowplan.errors import ConfigError


def test_without_arguments_all_flags_stand_at_their_defaults() -> None:
    line = CommandLine([])
    assert line.values == {flag.name: flag.default for flag in FLAGS.values()}
    assert not line.given


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--secure-port=1"], "secure-port", 1),
        (["--secure-port", "1"], "secure-port", 1),
        (["--secure_port=1"], "secure-port", 1),
        (["--secure-port=1", "--secure-port=2"], "secure-port", 2),
        (["--leader-elect=false"], "leader-elect", False),
        (["--profiling"], "profiling", True),
        (["-v=2"], "v", 2),
        (["-v2"], "v", 2),
        (["-v", "2"], "v", 2),
        (["--v", "2"], "v", 2),
        (["-h"], "help", True),
        (["-hv3"], "v", 3),
        (["--version"], "version", "true"),
        (["--version=raw"], "version", "raw"),
        (["--config="], "config", ""),
        (["--disabled-metrics=a,b", "--disabled-metrics=c"], "disabled-metrics", ("a", "b", "c")),
        (["--authorization-always-allow-paths=/a"], "authorization-always-allow-paths", ("/a",)),
        (["--plugin", "a:B", "--plugin", "./c,d.py:E"], "plugin", ("a:B", "./c,d.py:E")),
        (["", "--v=1"], "v", 1),
        (["--v=1", "--"], "v", 1),
    ],
)
def test_ways_to_give_a_flag(arguments: list[str], name: str, value: object) -> None:
    line = CommandLine(arguments)
    assert line[name] == value
    assert name in line.given


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["foo", ""], '"stowplan scheduler" does not take any arguments, got ["foo" ""]'),
        (["--", "--config"], '"stowplan scheduler" does not take any arguments, got ["--config"]'),
        (["--leader-elect", "false"], '"stowplan scheduler" does not take any arguments, got ["false"]'),
        (["--foo"], "unknown flag: --foo"),
        (["--foo=1"], "unknown flag: --foo"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-hx"], "unknown shorthand flag: 'x' in -x"),
        (["--config"], "flag needs an argument: --config"),
        (["-v"], "flag needs an argument: 'v' in -v"),
        (["--=x"], "bad flag syntax: --=x"),
        (["---x"], "bad flag syntax: ---x"),
        (["-v=x"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'),
        (
            ["--secure-port=abc"],
            'invalid argument "abc" for "--secure-port" flag: strconv.ParseInt: parsing "abc": invalid syntax',
        ),
    ],
)
def test_words_for_what_is_wrong(arguments: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CommandLine(arguments)
    assert caught.value.problems == (problem,)


REFUSED = [flag.name for flag in FLAGS.values() if flag.refused]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name_and_with_a_reason(name: str) -> None:
    line = CommandLine([f"--{name}={'1' if 'curve' in name or 'size' in name else 'other'}"])
    with pytest.raises(ConfigError, match=f"^--{name} is not supported: .{{10}}"):
        line.check_refused()


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_flag_may_be_given_its_default(name: str) -> None:
    flag = FLAGS[name]
    line = CommandLine([f"--{name}={flag.kind.show(flag.default).strip('[]')}"])
    line.check_refused()
    assert line[name] == flag.default


def test_usage_names_every_flag_its_default_and_what_is_refused() -> None:
    text = usage()
    for name in FLAGS:
        assert f"--{name}" in text
    assert "(default 10259)" in text
    assert "Not supported: OpenSSL chooses the key exchange mechanism." in " ".join(text.split())
