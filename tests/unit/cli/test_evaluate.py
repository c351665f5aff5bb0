"""The command `stowplan evaluate`: what good and, above all, bad input comes to."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.builders import Json

from stowplan.cli.main import cli
from stowplan.evaluation import evaluator

POD: Json = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c"}]}}
NODE: Json = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "10"}}}
GOOD = json.dumps({"id": "good", "pod": POD, "nodes": [NODE]})
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def run(*arguments: str, text: str | bytes = "", verbosity: str = "0") -> Result:
    return CliRunner().invoke(cli, ["-v", verbosity, "evaluate", *arguments], input=text)


def case(**fields: Any) -> str:
    return json.dumps({"id": "x", "pod": POD, "nodes": [NODE], **fields})


def case_pod(name: str = "p", metadata: Mapping[str, Any] = {}, **spec: Any) -> Json:
    return {"metadata": {**POD["metadata"], "name": name, **metadata}, "spec": {**POD["spec"], **spec}}


def case_node(name: str = "a", **allocatable: Any) -> Json:
    return {"metadata": {"name": name}, "status": {"allocatable": {**NODE["status"]["allocatable"], **allocatable}}}


def requesting(**amounts: Any) -> Json:
    return case_pod(containers=[{"name": "c", "resources": {"requests": amounts}}])


def config(**plugins: Any) -> Json:
    return {**HEAD, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}


def answers(text: str | bytes, *arguments: str) -> list[Json]:
    result = run(*arguments, text=text)
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    broken = sum("error" in verdict for verdict in verdicts)
    expected = f"stowplan: {broken} of {len(verdicts)} cases have an error instead of a verdict\n" if broken else ""
    assert (result.exit_code, result.stderr.removesuffix(expected)) == (2 if broken else 0, "")
    return verdicts


def error_of(line: str | bytes) -> str:
    """The error of an invalid case, which must not affect the cases around it."""
    text = line.encode() if isinstance(line, str) else line
    before, broken, after = answers(b"\n".join([GOOD.encode(), text, GOOD.encode()]))
    assert before == after
    assert before["feasible"] == ["a"]
    assert set(broken) == {"id", "error"}
    error: str = broken["error"]
    assert "\n" not in error
    return error


FOO = {"matchExpressions": [{"key": "k", "operator": "Foo"}]}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("nonsense", "$: JSON is malformed: invalid character (byte 4)"),
        ('{"id": 1', "$: Input data was truncated: the file has one case per line"),
        ("[]", "$: Expected `object`, got `array`"),
        ("17", "$: Expected `object`, got `int`"),
        ("null", "$: Expected `object`, got `null`"),
        ("{}", "$.pod: required"),
        (case(pod=None), "$.pod: required"),
        (case(pod=[]), "$.pod: Expected `object`, got `array`"),
        (case(nodes=NODE), "$.nodes: Expected `array`, got `object`"),
        (case(nodes=[NODE, None]), "$.nodes[1]: Expected `object`, got `null`"),
        (case(nodes=[{"metadata": {"name": 5}}]), "$.nodes[0].metadata.name: Expected `str`, got `int`"),
        (case(nodez=[]), '$.nodez: unknown field (did you mean "nodes"?)'),
        (GOOD[:-1] + ', "nodes": []}', "$.nodes: given more than once"),
        (GOOD[:-1] + ',"nodes":null}', "$.nodes: given more than once"),
        (GOOD[:-1] + ', "i\\u0064": "x"}', "$.id: given more than once"),
        (b'{"pod": "\xff"}', "not UTF-8 text: invalid start byte at byte 9"),
        (b'{"pod": {"unread": "\xff"}}', "not UTF-8 text: invalid start byte at byte 20"),
        ('{"x":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"pod":' + '{"x":' * 100_000, "nested too deeply"),
        (case(nodes=[]), "no nodes available to schedule pods"),
        (case(nodes=None), "no nodes available to schedule pods"),
        (case(nodes=[NODE, NODE]), '$.nodes[1].metadata.name: duplicate Node "a"'),
        (case(nodes=[{}]), "$.nodes[0].metadata.name: must not be empty"),
        (
            case(nodes=[{}] * 5),
            "; ".join(f"$.nodes[{i}].metadata.name: must not be empty" for i in range(3)) + "; and more",
        ),
        (case(pods=[POD]), "$.pods[0].spec.nodeName: required, since these pods run"),
        (
            case(pod=case_pod(metadata={"uid": "u"}), pods=[case_pod("q", {"uid": "u"}, nodeName="a")]),
            '$.pod.metadata.uid: duplicate "u"',
        ),
        (
            case(pods=[case_pod("q", {"uid": "u"}, nodeName="a"), case_pod("r", {"uid": "u"}, nodeName="a")]),
            '$.pods[1].metadata.uid: duplicate "u"',
        ),
        (case(pod=case_pod(schedulerName="other")), 'no profile for schedulerName "other"'),
        (case(pod=case_pod(priority=2**31)), "$.pod.spec.priority: Expected `int` <= 2147483647"),
        (case(pod=case_pod(priority=-(2**70))), "$.pod.spec.priority: Expected `int` >= -2147483648"),
        (
            case(pod=requesting(cpu="-1")),
            '$.pod.spec.containers[0].resources.requests.cpu: must not be negative: "-1"',
        ),
        (case(nodes=[case_node(memory=-1)]), '$.nodes[0].status.allocatable.memory: must not be negative: "-1"'),
        (
            case(pod=case_pod(tolerations=[{"operator": "Foo"}])),
            '$.pod.spec.tolerations[0].operator: must be one of "Equal", "Exists", "Gt", "Lt": "Foo"',
        ),
        (
            case(pdbs=[{"metadata": {"name": "b"}, "spec": {"selector": FOO}}]),
            '$.pdbs[0].spec.selector: "Foo" is not a valid label selector operator',
        ),
    ],
)
def test_a_broken_case_is_told_in_one_line_and_spoils_no_other(line: str | bytes, error: str) -> None:
    assert error_of(line) == error


@pytest.mark.parametrize("amount", ["", "much", "1" * 2000, "NaN", "1EiB", [], True])
def test_amounts_that_are_none(amount: Any) -> None:
    assert error_of(case(pod=requesting(cpu=amount))).startswith("$.pod.spec.containers[0].resources.requests")
    assert error_of(case(nodes=[case_node(cpu=amount)])).startswith("$.nodes[0].status.allocatable")


@pytest.mark.parametrize("amount", ["9999999999999999999999", "1e999999", "16Ei", 1e300])
def test_absurd_amounts_are_counted_as_far_as_they_can_be(amount: Any) -> None:
    running = [case_pod(f"r{i}", nodeName="a", **requesting(cpu=amount, memory=amount)["spec"]) for i in range(3)]
    nodes = [case_node("a"), case_node("b", cpu=amount, memory=amount, pods=amount)]
    (verdict,) = answers(case(pod=requesting(cpu="1", memory="1Gi"), nodes=nodes, pods=running))
    assert verdict["feasible"] == ["b"]
    (verdict,) = answers(case(pod=requesting(cpu=amount), nodes=nodes[:1], pods=running))
    assert verdict["feasible"] == []
    assert verdict["filter"]["a"]["reasons"] == ["Insufficient cpu"]


@pytest.mark.parametrize("amount", [10**30, 10**25])
def test_a_whole_number_beyond_all_bounds_is_no_internal_error(amount: int) -> None:
    (verdict,) = answers(case(pod=requesting(cpu=amount)))
    assert not verdict.get("error", "").startswith("internal error")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({}, "config: $.kind: Required value: must be KubeSchedulerConfiguration"),
        ([], "config: expected an object, got a list"),
        ("text", "config: expected an object, got a string"),
        (
            config(filter={"enabled": [{"name": "NodeAfinity"}, {"name": "Nobody"}]}),
            "config: $.profiles[0].plugins.filter.enabled[0].name: "
            'unknown plugin "NodeAfinity" (did you mean "NodeAffinity"?); '
            'config: $.profiles[0].plugins.filter.enabled[1].name: unknown plugin "Nobody"',
        ),
        (
            config(filter={"enabled": [{"name": "ImageLocality"}]}),
            'profile "default-scheduler": $.plugins.filter: plugin "ImageLocality" does not extend FilterPlugin plugin',
        ),
        (
            config(score={"enabled": [{"name": "ImageLocality", "weight": 2**31}]}),
            "config: $.profiles[0].plugins.score.enabled[0].weight: "
            "2147483648 is not between -2147483648 and 2147483647",
        ),
        ({**HEAD, "extenders": [{"urlPrefix": "http://x"}]}, "config: $.extenders: extenders are not called"),
        ({"x" * 2_000_000: 1}, "$.config: larger than 1 MiB"),
    ],
)
def test_a_broken_configuration_in_a_case(settings: Any, error: str) -> None:
    assert error_of(case(config=settings)).startswith(error)


def test_a_field_of_the_configuration_given_twice() -> None:
    line = case(config=config()).replace('"schedulerName"', '"plugins": {}, "schedulerName"')
    assert error_of(line) == "config: $.profiles[0].plugins: given more than once"


@pytest.mark.parametrize("depth", [300, 900])
def test_a_configuration_nested_too_deeply(depth: int) -> None:
    line = case(config="here").replace('"here"', '{"x":' * depth + "1" + "}" * depth)
    assert error_of(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": "a\\"b", oops', 'a"b'),
        ('{"id": 7, "pod": 1}', 7),
        ('{"pod": 1, "id": -7}', -7),
        ('{"id": 99999999999999999999999999, "pod": 1}', 99999999999999999999999999),
        ('{"id": 1.5}', None),
        ('{"id": true}', None),
        ('{"id": ["a"]}', None),
        (b'{"id": "\xff"}', None),
        (b'{"id": "far", "pod": "\xff"}', "far"),
        ("{" + " " * 5000 + '"id": "too far to look for", oops', None),
    ],
)
def test_a_broken_case_keeps_its_id_where_it_can_be_found(line: str | bytes, expected: Any) -> None:
    (verdict,) = answers(line)
    assert verdict["id"] == expected
    assert verdict["error"]


def test_null_is_the_same_as_not_given() -> None:
    spec = ("affinity", "volumes", "tolerations", "nodeSelector", "overhead", "resources", "priority", "schedulerName")
    nulls = case(
        pod={**case_pod(**dict.fromkeys(spec)), "status": None},
        nodes=[{**NODE, "spec": None}],
        **dict.fromkeys(("pods", "nominatedPods", "config", "services", "pvcs", "pdbs", "resourceslices")),
    )
    assert answers(nulls) == answers(case())


def test_a_claim_that_does_not_exist_is_a_verdict() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]
    (verdict,) = answers(case(pod=case_pod(volumes=volumes)))
    assert verdict["message"] == '0/1 nodes are available: persistentvolumeclaim "missing" not found.'


def test_pods_need_no_uid() -> None:
    running = [case_pod(name, nodeName="a", **requesting(cpu="1")["spec"]) for name in ("q", "r")]
    (verdict,) = answers(case(pod=requesting(cpu="1"), pods=running))
    assert verdict["filter"]["a"]["reasons"] == ["Insufficient cpu"]


def test_keys_may_be_written_with_escapes_and_spaces() -> None:
    line = case().replace('"pod"', ' "p\\u006fd" ').replace('"nodes":', '"nodes" : ') + "  "
    assert answers(line) == answers(case())


@pytest.mark.parametrize("filler", ["x" * 5_000_000, '{"id":"' + "x" * 5_000_000, '{"' + "x" * 5_000_000 + '":1}'])
def test_what_is_wrong_with_a_huge_line_stays_short(filler: str) -> None:
    assert len(error_of(filler)) < 1100


def test_a_bug_in_one_case_is_reported_and_does_not_affect_others(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = evaluator.evaluate

    def fail_once(profile: Any, pod: Any) -> Any:
        if pod.name == "unlucky":
            raise ZeroDivisionError("of all\nthings")
        return evaluate(profile, pod)

    monkeypatch.setattr(evaluator, "evaluate", fail_once)
    text = "\n".join([GOOD, case(pod=case_pod("unlucky")), GOOD])
    quiet, loud = run(text=text), run(text=text, verbosity="5")
    assert quiet.stdout == loud.stdout
    first, second, third = map(json.loads, quiet.stdout.splitlines())
    assert first == third
    assert second == {"id": "x", "error": "internal error: ZeroDivisionError: of all things"}
    assert quiet.stderr == "stowplan: 1 of 3 cases have an error instead of a verdict\n"
    assert loud.stderr.startswith("Traceback (most recent call last):\n")
    assert "ZeroDivisionError: of all\nthings\n" in loud.stderr


INDENTED = json.dumps(json.loads(case()), indent=2)
YAML = yaml.safe_dump(json.loads(case()))


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        (INDENTED, 1),
        (f"\n{INDENTED}\n{INDENTED}\n\n{case()}", 3),
        (json.dumps([json.loads(case())] * 3, indent=1), 3),
        (f"[{case()}, {case()}]", 2),
        ("{" + case()[1:].replace(", ", ",\n"), 1),
        (YAML, 1),
        (f"# two cases\n---\n{YAML}---\n\n---\n{YAML}", 2),
        (yaml.safe_dump([json.loads(case())] * 2), 2),
    ],
)
def test_cases_may_be_indented_json_or_yaml(text: str, cases: int) -> None:
    assert answers(text) == answers(case()) * cases


def test_an_indented_case_with_a_mistake_has_an_error() -> None:
    good, broken = answers(f"{INDENTED}\n{INDENTED[:-2]},\n}}")
    assert good["feasible"] == ["a"]
    assert broken == {"id": "x", "error": broken["error"]}
    assert broken["error"].startswith("$: JSON is malformed: ")


def test_lines_after_a_broken_first_line_are_cases() -> None:
    broken, good, other = answers('{"id": 1, "pod": {\n' + f"{case()}\n{case()}")
    assert broken == {"id": 1, "error": "$: Input data was truncated: the file has one case per line"}
    assert good == other


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("pod: {\nnodes: []", "malformed YAML: line 3, column 1: "),
        (f"pod: {{}}\n{YAML}", "$.pod: given more than once"),
    ],
)
def test_malformed_yaml_is_reported_with_its_file(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(text)
    result = run(str(tmp_path / "cases.yaml"), "-", text=case())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"stowplan: {tmp_path / 'cases.yaml'}: {error}")
    assert len(result.stderr.splitlines()) == 1
    assert json.loads(result.stdout)["feasible"] == ["a"]


@pytest.mark.parametrize("text", ["", "\n \n\t\r\n"])
def test_input_without_cases(text: str) -> None:
    result = run(text=text)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "stowplan: the input is empty: no cases\n"


def test_files_are_read_in_turn_and_an_unreadable_one_is_skipped(tmp_path: Path) -> None:
    one = tmp_path / "one.jsonl"
    one.write_bytes(b"\xef\xbb\xbf" + case(id=1).encode() + b"\r\n\n" + case(id=2).encode())
    result = run(str(tmp_path / "missing"), str(one), "-", str(tmp_path), str(one), text=case(id=3))
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [1, 2, 3, 1, 2]
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"stowplan: {tmp_path / 'missing'}: No such file or directory",
        f"stowplan: {tmp_path}: Is a directory",
    ]


def test_the_configuration_of_a_case_wins_over_the_one_given(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps(config(filter={"disabled": [{"name": "*"}]})))
    own, given = answers(
        case(pod=requesting(cpu="99"), config=HEAD) + "\n" + case(pod=requesting(cpu="99")), "--config", str(file)
    )
    assert own["feasible"] == []
    assert given["feasible"] == ["a"]


@pytest.mark.parametrize(
    ("settings", "errors"),
    [
        ({"kind": "Deployment"}, ['$.kind: Invalid value: "Deployment": must be KubeSchedulerConfiguration']),
        (
            {**config(filter={"enabled": [{"name": "Nobody"}]}), "parallelism": 0},
            [
                '$.profiles[0].plugins.filter.enabled[0].name: unknown plugin "Nobody"',
                "$.parallelism: Invalid value: 0: should be an integer value greater than zero",
            ],
        ),
        (
            config(bind={"disabled": [{"name": "*"}]}),
            [
                'profile "default-scheduler": $.plugins.bind: '
                'at least one bind plugin is needed for profile with scheduler name "default-scheduler"'
            ],
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_ends_it_at_once(settings: Json, errors: list[str], tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps(settings))
    result = run("--config", str(file), text=GOOD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [f"stowplan: {file}: {error}" for error in errors]


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    result = run("--config", str(tmp_path / "no.yaml"), text=GOOD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"stowplan: {tmp_path / 'no.yaml'}: No such file or directory\n"


class TestAsAProcess:
    """What only a real process shows."""

    COMMAND = (sys.executable, "-m", "stowplan", "evaluate")

    def start(self, **streams: Any) -> "subprocess.Popen[bytes]":
        """Handles SIGINT even if the test was started with SIGINT ignored, as in the background of a script."""
        listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(
            self.COMMAND, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listening, **streams
        )

    def test_verdicts_come_as_cases_go(self) -> None:
        with self.start(stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            for number in range(2):
                process.stdin.write(case(id=number).encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["id"] == number
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate()
        assert process.returncode == 130
        assert stderr.strip() == b""

    def test_a_reader_that_goes_away_ends_it_quietly(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as stdout, self.start(stdout=stdout) as process:
            _, stderr = process.communicate(GOOD.encode())
        assert (process.returncode, stderr) == (1, b"")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
    def test_a_full_disk_is_told_in_one_line(self) -> None:
        with open("/dev/full", "wb") as stdout, self.start(stdout=stdout) as process:
            _, stderr = process.communicate(GOOD.encode())
        assert (process.returncode, stderr) == (2, b"stowplan: No space left on device\n")


TAINTED = {**NODE, "spec": {"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]}}


@pytest.mark.parametrize(
    ("given", "own", "reason"),
    [
        ("1.33", None, "node(s) had untolerated taint {gpu: a}"),
        ("kube=1.34", None, "node(s) had untolerated taint(s)"),
        ("1.34", "1.33", "node(s) had untolerated taint {gpu: a}"),
    ],
)
def test_an_earlier_release(given: str, own: str | None, reason: str) -> None:
    """The release of a case takes precedence."""
    release = {} if own is None else {"release": own}
    result = run("--emulated-version", given, "-", text=case(nodes=[TAINTED], **release))
    assert json.loads(result.stdout)["filter"]["a"]["reasons"] == [reason]


def test_a_configuration_is_read_for_the_release_of_each_case(tmp_path: Path) -> None:
    """An unused shape was accepted before v1.36."""
    shape = {"requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}
    args = {"scoringStrategy": {"type": "LeastAllocated", **shape}}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**HEAD, "profiles": [profile]}))
    result = run("--config", str(file), "--emulated-version", "1.35", "-", text=case() + "\n" + case(release="1.36"))
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["feasible"] == ["a"]
    assert "must be nil when type is not RequestedToCapacityRatio" in second["error"]
    assert run("--config", str(file), "-", text=case()).exit_code == 2


@pytest.mark.parametrize("value", ["1.32", "1.34.4", "new"])
def test_a_release_that_is_not_emulated(value: str) -> None:
    result = run("--emulated-version", value, "-", text=case())
    assert result.exit_code == 2
    assert "Invalid value for '--emulated-version'" in result.stderr
