from pathlib import Path

import pytest

from stowplan.config import Duration, default_configuration
from stowplan.config.flags.parsing import parse
from stowplan.errors import ConfigError

OUTSIDE: dict[str, str] = {}
INSIDE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}

FILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true, leaseDuration: 30s, renewDeadline: 20s}
clientConnection: {qps: 7}
enableProfiling: false
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(FILE)
    return str(path)


def test_without_flags() -> None:
    options = parse([], env=OUTSIDE)
    assert options.config == default_configuration()
    assert (options.unschedulable_timeout, options.print_and_exit, options.plugins) == (300.0, "", ())
    assert options.plugin_call_timeout == 600.0
    assert options.flags["secure-port"] == "10259"
    assert options.gates["GangScheduling"] is False


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["--help"], "help"),
        (["-h", "--config=/nowhere"], "help"),
        (["-h", "word"], "help"),
        (["--version"], "version"),
        (["--version=raw"], "raw"),
        (["--version=v1.2.3"], "v1.2.3"),
        (["--version=false"], ""),
    ],
)
def test_what_is_asked_instead(arguments: list[str], asked: str) -> None:
    assert parse(arguments, env=OUTSIDE).print_and_exit == asked


def test_without_a_file_the_deprecated_flags_count() -> None:
    line = "--kubeconfig=k --kube-api-qps=5 --kube-api-burst=6 --kube-api-content-type=application/json"
    config = parse([*line.split(), "--profiling=false", "--contention-profiling=false"], env=INSIDE).config
    connection = config.client_connection
    assert (connection.kubeconfig, connection.qps, connection.burst) == ("k", 5.0, 6)
    assert connection.content_type == "application/json"
    assert (config.enable_profiling, config.enable_contention_profiling) == (False, False)


def test_with_a_file_they_do_not(file: str) -> None:
    options = parse([f"--config={file}", "--kube-api-qps=5", "--profiling=true", "--kubeconfig=k"], env=INSIDE)
    assert options.config.client_connection.qps == 7
    assert options.config.client_connection.kubeconfig == ""
    assert not options.config.enable_profiling
    assert [warning.split()[0] for warning in options.warnings] == ["--kube-api-qps", "--kubeconfig", "--profiling"]


def test_outside_of_a_cluster_a_kubeconfig_is_welcome(file: str) -> None:
    options = parse([f"--config={file}", "--kubeconfig=k"], env=OUTSIDE)
    assert options.config.client_connection.kubeconfig == "k"
    assert not options.warnings


def test_the_files_own_kubeconfig_wins(file: str) -> None:
    with open(file, "a", encoding="utf-8") as opened:
        opened.write("\n")
    text = Path(file).read_text().replace("{qps: 7}", "{kubeconfig: mine}")
    Path(file).write_text(text)
    options = parse([f"--config={file}", "--kubeconfig=k"], env=OUTSIDE)
    assert options.config.client_connection.kubeconfig == "mine"
    assert options.warnings == ("--kubeconfig is ignored: the configuration file decides",)


def test_flags_about_leader_election_win_over_the_file(file: str) -> None:
    options = parse([f"--config={file}", "--leader-elect-lease-duration=40s", "--leader-elect-resource-name=mine"])
    election = options.config.leader_election
    assert election.lease_duration == Duration.of_seconds(40)
    assert election.renew_deadline == Duration.of_seconds(20)
    assert election.resource_name == "mine"
    assert election.leader_elect


def test_what_flags_make_of_it_is_checked_too(file: str) -> None:
    with pytest.raises(
        ConfigError, match=r"\$\.leaderElection\.leaseDuration: .* must be greater than `RenewDeadline`"
    ):
        parse(["--leader-elect-lease-duration=5s"])
    with pytest.raises(ConfigError, match=f"^{file}: "):
        parse([f"--config={file}", "--leader-elect-lease-duration=5s"])


def test_a_missing_file() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(["--config=/nowhere"])
    assert str(caught.value) == "open /nowhere: no such file or directory"


def test_plugins_of_ones_own_may_stand_in_the_file(file: str) -> None:
    plugins = "profiles: [{plugins: {filter: {enabled: [{name: Mine}]}}}]\n"
    Path(file).write_text(FILE + plugins)
    asked: list[tuple[str, ...]] = []

    def known(values: tuple[str, ...]) -> set[str]:
        asked.append(values)
        return {"Mine"} if values else set()

    arguments = [f"--config={file}", "--plugin=a:B"]
    assert parse(arguments, known).plugins == ("a:B",)
    assert asked == [("a:B",)]
    with pytest.raises(ConfigError, match='unknown plugin "Mine"'):
        parse(arguments[:1], known)


def test_refused_flags_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--requestheader-client-ca-file is not supported: "):
        parse(["--requestheader-client-ca-file=ca.crt"])


def test_plugins_are_given_some_time() -> None:
    assert parse(["--plugin-call-timeout=90s"], known_plugins=None).plugin_call_timeout == 90.0
    with pytest.raises(ConfigError, match=r"^--plugin-call-timeout 0s must be greater than zero$"):
        parse(["--plugin-call-timeout=0"])


def test_limits_of_extender_calls() -> None:
    limits = parse(["--extender-timeouts=filter=2s,bind=500ms", "--extender-hedge-after=100ms"]).extender_limits
    assert (limits.timeouts, limits.hedge_after) == ({"filter": 2.0, "bind": 0.5}, 0.1)


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("--extender-timeouts=filters=2s", "filters=2s: give filter, prioritize, preempt, bind a time above zero"),
        ("--extender-timeouts=filter=0s", "filter=0s: give filter, prioritize, preempt, bind a time above zero"),
        ("--extender-timeouts=filter=soon", 'filter=soon: time: invalid duration "soon"'),
        ("--extender-hedge-after=-1s", "--extender-hedge-after -1s must not be below zero"),
    ],
)
def test_impossible_limits(flag: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parse([flag])


def test_the_share_of_a_namespace() -> None:
    assert [parse([*flag], env=OUTSIDE).max_namespace_share for flag in ([], ["--max-namespace-share=1"])] == [0.2, 1.0]


@pytest.mark.parametrize("share", ["-0.1", "1.5", "NaN"])
def test_an_impossible_share_of_a_namespace(share: str) -> None:
    with pytest.raises(ConfigError, match=f"--max-namespace-share {share.lower()} must be between 0 and 1, inclusive"):
        parse([f"--max-namespace-share={share}"])


def test_explanations_in_events_are_off_by_default() -> None:
    assert [parse([*flag], env=OUTSIDE).explain_events for flag in ([], ["--explain-events"])] == [False, True]
