"""The command `stowplan what-if`: order of options, sources, output formats, exit statuses, bad input."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.builders import Json
from tests.unit.simulator.what_if.asking import as_list, node, workload

from stowplan.cli.main import cli, main

FAULTY = """
from stowplan import Plugin


class Faulty(Plugin):
    def score(self, state, pod, node):
        return 1 / 0
"""
CLUSTER = (node("n1"), node("n2", zone="b"), workload("web", 20))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_bytes(as_list(*CLUSTER))
    (tmp_path / "node.json").write_text(json.dumps(node("big", cpu="64")))
    (tmp_path / "more.json").write_text(json.dumps(workload("more", 2)))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["what-if", *arguments])


def ask(*arguments: str, status: int = 0) -> Json:
    result = run(*arguments, "-o", "json")
    assert result.exit_code == status, result.stderr or result.exception
    found: Json = json.loads(result.stdout)
    return found


@pytest.mark.usefixtures("cluster")
def test_changes_are_in_the_order_given() -> None:
    answer = ask("-f", "cluster.json", "--add", "1", "--like", "n1", "--drain", "n2", "--add", "1", "-f", "node.json")
    assert [next(iter(each)) for each in answer["changes"]] == ["add", "drain", "add"]
    assert answer["after"]["nodes"] == 3
    assert answer["after"]["pending"] == 0


@pytest.mark.usefixtures("cluster")
def test_the_status_tells_whether_everything_fits() -> None:
    assert run("-f", "cluster.json", "--add", "1", "--like", "n1").exit_code == 0
    assert run("-f", "cluster.json", "--add", "1", "--like", "n1", "--drain", "n2").exit_code == 3
    assert run("-f", "cluster.json", "--cordon", "n1").exit_code == 0
    assert run("-f", "cluster.json", "--enough", "n1").exit_code == 0
    assert run("-f", "cluster.json", "--fit", "Deployment/web", "-n", "shop").exit_code == 3


@pytest.mark.usefixtures("cluster")
def test_a_file_after_a_change_is_applied() -> None:
    answer = ask("-f", "cluster.json", "--add", "1", "--like", "n1", "-f", "more.json")
    assert [each["workload"] for each in answer["workloads"]] == ["shop/Deployment/more", "shop/Deployment/web"]
    base = ask("--base", "cluster.json", "-f", "more.json", status=3)
    assert base["changes"] == [{"apply": "more.json"}]
    assert base["waiting"] == 2


@pytest.mark.usefixtures("cluster")
def test_a_snapshot_has_the_answers_of_its_manifests() -> None:
    assert CliRunner().invoke(cli, ["snapshot", "snapshot.json", "-f", "cluster.json"]).exit_code == 0
    for change in (("--drain", "n2"), ("--scale", "shop/Deployment/web=17"), ("--again", "all")):
        one, other = run("-f", "cluster.json", *change), run("--from", "snapshot.json", *change)
        assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)
    scaled = run("--from", "snapshot.json", "--scale", "shop/Deployment/web=17").stdout
    assert "instead of 20: 16 of 17 pods of Deployment/web have a place, 1 still waits" in scaled


@pytest.mark.usefixtures("cluster")
def test_replicas_of_a_file_are_counted() -> None:
    assert ask("-f", "cluster.json", "--add", "1", "--like", "n1", "--fit", "more.json")["fit"]["replicas"] == 4


@pytest.mark.usefixtures("cluster")
def test_another_configuration_is_a_change(cluster: Path) -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config["profiles"] = [{"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": [{"name": "*"}]}}}]
    (cluster / "config.yaml").write_text(yaml.safe_dump(config))
    answer = ask("-f", "cluster.json", "--config", "config.yaml", "--again", "all")
    assert answer["sentence"].startswith("With configuration config.yaml: if the 16 pods of all namespaces were placed")
    assert answer["changes"] == [{"config": "config.yaml", "plugins": []}, {"again": "all"}]


def test_a_bug_of_a_plugin_has_a_status_of_its_own(cluster: Path) -> None:
    (cluster / "faulty.py").write_text(FAULTY)
    result = run("-f", "cluster.json", "--plugin", "./faulty.py", "--again", "all")
    assert result.exit_code == 4
    assert "plugin Faulty: " in result.stderr


def test_other_extenders_cannot_be_compared(cluster: Path) -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config["extenders"] = [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}]
    (cluster / "config.yaml").write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(cli, ["what-if", "-f", "cluster.json", "--config", "config.yaml", "--again", "all"])
    assert result.exit_code == 2
    assert "its extenders are not those of --config-now" in result.stderr


@pytest.mark.usefixtures("cluster")
def test_output_formats() -> None:
    arguments = ("-f", "cluster.json", "--drain", "n2")
    assert yaml.safe_load(run(*arguments, "-o", "yaml").stdout) == ask(*arguments, status=3)
    assert "Use by zone" in run(*arguments, "-o", "wide").stdout
    assert run(*arguments).stdout.startswith("Without node n2: of 8 pods that have to move, none finds a place.")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--drain n1", "Missing the state"),
        ("-f cluster.json", "Missing a change, --fit, --enough or --removable."),
        ("-f cluster.json --add 1", "--add N needs --like NODE or -f FILE after it."),
        ("-f cluster.json --add 1 --drain n1", "--add N needs --like NODE or -f FILE after it."),
        ("-f cluster.json --like n1", "--like follows --add N."),
        ("-f cluster.json --add x --like n1", "--add x: a number of at least 1 is expected"),
        ("-f cluster.json --add 1 -f more.json", "more.json: there is no Node in it"),
        ("-f cluster.json --fit node.json", "node.json: it contains no pod or workload"),
        ("-f cluster.json --drain nowhere", "node nowhere is not known"),
        ("-f cluster.json --without Nothing", "plugin Nothing is not enabled"),
        ("-f cluster.json --without PrioritySort", "queueSort"),
        ("-f cluster.json --drain n1 -f nothing.yaml", "nothing.yaml: No such file or directory"),
        ("-f nothing.yaml --drain n1", "nothing.yaml: No such file or directory"),
    ],
)
def test_bad_input_is_one_line(
    arguments: str, problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["stowplan", "what-if", *arguments.split()])
    assert main() == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert problem in lines[0]


def test_one_more_node_places_a_gang_whole() -> None:
    folder = Path(__file__).parents[3] / "examples" / "08-gang"
    files = ("-f", str(folder / "cluster.yaml"), "-f", str(folder / "groups.yaml"))
    answer = ask(*files, "--add", "1", "--like", "ant")
    counts = [
        {each["podGroup"]: (each["status"], each["placed"], each["members"]) for each in answer[when]["podGroups"]}
        for when in ("before", "after")
    ]
    red = {"default/red": ("Scheduled", 4, 4)}
    assert counts == [
        {"default/blue": ("Unschedulable", 0, 4), **red},
        {"default/blue": ("Scheduled", 4, 4), **red},
    ]
    assert answer["sentence"].endswith("4 of 4 pending pods get a place.")
    lines = run(*files, "--add", "1", "--like", "ant").stdout.split("Pod groups\n")[1].splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["default", name, "Gang", "Scheduled", "4", "4", "4", "-"] for name in ("blue", "red")
    ]
    assert "Pod groups" not in run(*files, "--fit", "ReplicaSet/red").stdout
