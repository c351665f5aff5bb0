"""Files and flags of earlier releases on the command line of a scheduler."""

from pathlib import Path

import pytest
from tests.conversion import samples

from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.args import InterPodAffinityArgs, NodeResourcesFitArgs
from stowplan.config.conversion import InsecureAddress, InsecureServing
from stowplan.config.flags.parsing import parse
from stowplan.config.flags.table import EARLIER
from stowplan.config.options import Options
from stowplan.errors import ConfigError
from stowplan.scheduler.policies import Policies

OUTSIDE: dict[str, str] = {}
DEFAULT = InsecureAddress("127.0.0.1", 10251)


def options(*flags: str) -> Options:
    return parse(flags, env=OUTSIDE)


def strategy(config: KubeSchedulerConfiguration) -> str:
    args = config.profiles[0].args("NodeResourcesFit")
    assert isinstance(args, NodeResourcesFitArgs)
    return args.scoring_strategy.type


@pytest.mark.parametrize("name", [name for name in samples.NAMES if name != "v1alpha1-policy-file"])
def test_files_of_every_era_as_they_are(name: str) -> None:
    parsed = options(f"--config={samples.GIVEN[name]}")
    loaded = samples.loaded(name)
    assert parsed.config == loaded.config
    assert parsed.plain_http == loaded.converted.plain_http
    assert [warning.partition(": ")[2] for warning in parsed.warnings] == [
        f"{notice.path}: {notice.message}" for notice in loaded.converted.notices
    ]


def test_a_file_that_refers_to_a_policy(tmp_path: Path) -> None:
    policy, config = tmp_path / "policy.yaml", tmp_path / "config.yaml"
    policy.write_text(samples.text_of("policy-extender-only"))
    config.write_text(samples.text_of("v1alpha1-policy-file").replace(samples.POLICY, str(policy)))
    parsed = options(f"--config={config}")
    assert parsed.config.extenders[0].url_prefix == "http://127.0.0.1:8888/"
    assert parsed.config.client_connection.kubeconfig == samples.KUBECONFIG
    policy.unlink()
    with pytest.raises(ConfigError, match=f"open {policy}: no such file or directory"):
        options(f"--config={config}")


def test_a_policy_by_flag() -> None:
    parsed = options(f"--policy-config-file={samples.GIVEN['policy-go-names']}", "--scheduler-name=mine")
    assert parsed.config.profiles[0].scheduler_name == "mine"
    assert strategy(parsed.config) == "MostAllocated"
    assert parsed.plain_http == InsecureServing(DEFAULT, DEFAULT)
    assert parsed.warnings[:2] == (
        "Flag --policy-config-file has been deprecated: use a configuration file, --config instead",
        "Flag --scheduler-name has been deprecated: use a configuration file, --config instead",
    )


def test_a_provider_by_flag() -> None:
    assert strategy(options("--algorithm-provider=ClusterAutoscalerProvider").config) == "MostAllocated"
    assert strategy(options("--algorithm-provider=DefaultProvider").config) == "LeastAllocated"
    with pytest.raises(ConfigError, match=r'flags: \$.algorithmSource.provider: Unsupported value: "Other"'):
        options("--algorithm-provider=Other")


def test_a_weight_by_flag() -> None:
    args = options("--hard-pod-affinity-symmetric-weight=33").config.profiles[0].args("InterPodAffinity")
    assert args == InterPodAffinityArgs(hard_pod_affinity_weight=33)


def test_a_config_map_comes_before_a_file_unless_told_otherwise() -> None:
    policy = samples.GIVEN["policy-go-names"]
    legacy = options(f"--policy-config-file={policy}", "--policy-configmap=p", "--use-legacy-policy-config")
    assert strategy(legacy.config) == "MostAllocated"
    with pytest.raises(ConfigError, match="k: "):
        parse([f"--policy-config-file={policy}", "--policy-configmap=p", "--kubeconfig=k"], policies=Policies)
    with pytest.raises(ConfigError, match="needs --policy-config-file"):
        options("--use-legacy-policy-config")


def test_with_a_file_they_are_ignored_by_name() -> None:
    parsed = options(f"--config={samples.GIVEN['v1']}", "--policy-config-file=/nowhere", "--lock-object-name=x")
    assert parsed.config.leader_election.resource_name == "kube-scheduler"
    assert parsed.warnings == (
        "--lock-object-name is ignored: the configuration file decides",
        "--policy-config-file is ignored: the configuration file decides",
    )


def test_the_lock() -> None:
    parsed = options("--lock-object-name=a", "--lock-object-namespace=b", "--leader-elect-resource-lock=endpoints")
    election = parsed.config.leader_election
    assert (election.resource_name, election.resource_namespace, election.resource_lock) == ("a", "b", "leases")
    assert parsed.warnings[-1].startswith("A Lease is locked, not endpoints")
    both = options("--lock-object-name=a", "--leader-elect-resource-name=c")
    assert both.config.leader_election.resource_name == "c"


OLD = f"--config={samples.GIVEN['v1alpha1-plugins']}"


@pytest.mark.parametrize(
    ("flags", "plain"),
    [
        ([], InsecureServing()),
        (["--address=127.0.0.1"], InsecureServing()),
        (
            ["--port=10351"],
            InsecureServing(InsecureAddress("0.0.0.0", 10351), InsecureAddress("0.0.0.0", 10351), explicit=True),
        ),
        (
            ["--port=80", "--address=::1"],
            InsecureServing(InsecureAddress("::1", 80), InsecureAddress("::1", 80), explicit=True),
        ),
        (["--port=0"], InsecureServing(explicit=True)),
        ([OLD], InsecureServing(DEFAULT, DEFAULT)),
        ([OLD, "--port=0"], InsecureServing(explicit=True)),
        ([OLD, "--address=0.0.0.0"], InsecureServing(InsecureAddress("0.0.0.0"), InsecureAddress("0.0.0.0"))),
    ],
)
def test_plain_http(flags: list[str], plain: InsecureServing) -> None:
    assert options(*flags).plain_http == plain


def test_a_port_that_is_none() -> None:
    with pytest.raises(ConfigError, match="--port 70000 must be between 0 and 65535"):
        options("--port=70000")


def test_flags_of_old_are_shown_where_they_were_given() -> None:
    assert not EARLIER.intersection(options().flags)
    assert EARLIER.intersection(options("--port=0", "--logtostderr=true").flags) == {"port", "logtostderr"}


def test_deprecated_flags_that_count_are_named() -> None:
    (warning,) = options("--kube-api-qps=20").warnings
    assert warning == "Flag --kube-api-qps has been deprecated: use a configuration file, --config instead"
