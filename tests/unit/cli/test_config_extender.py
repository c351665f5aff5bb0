"""`stowplan config extender`: the entry that makes a scheduler call a plugin."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stowplan.cli.config_extender import CONFIG_VERSIONS
from stowplan.cli.main import cli
from stowplan.config import load

PLUGINS = """
from stowplan import Plugin

class Picky(Plugin):
    name = "Picky"
    def filter(self, state, pod, node): return None

class Fond(Plugin):
    name = "Fond"
    def score_nodes(self, state, pod, nodes): return nodes.index

class Binder(Plugin):
    name = "Binder"
    def bind(self, state, pod, node_name): return None
    def select_victims(self, state, pod, victims): return victims

class Careful(Picky):
    name = "Careful"
    def reserve(self, state, pod, node_name): return None

class Neighbours(Plugin):
    name = "Neighbours"
    scope = "node+pods"
    def filter(self, state, pod, node): return None

class Idle(Plugin):
    name = "Idle"
    def permit(self, state, pod, node_name): return None

def factory(args, handle): return Picky(args, handle)
factory.name = "Made"
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(PLUGINS)
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["config", "extender", *arguments])


def entry(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "-o", "json")
    assert result.exit_code == 0, result.stderr
    (extender,) = json.loads(result.stdout)["extenders"]
    return dict(extender)


@pytest.mark.parametrize(
    ("classes", "verbs"),
    [
        (["Picky"], {"filterVerb"}),
        (["Fond"], {"prioritizeVerb"}),
        (["Binder"], {"bindVerb", "preemptVerb"}),
        (["Careful"], {"filterVerb", "bindVerb"}),
        (["Picky", "Fond", "Binder"], {"filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb"}),
    ],
)
def test_verbs_follow_from_the_points(file: str, classes: list[str], verbs: set[str]) -> None:
    made = entry(*(f"--plugin={file}:{name}" for name in classes))
    assert {field for field in made if field.endswith("Verb")} == verbs
    assert ("weight" in made) is ("prioritizeVerb" in verbs)


@pytest.mark.parametrize("version", CONFIG_VERSIONS)
@pytest.mark.parametrize("output", ["yaml", "json"])
def test_every_version_reads_its_own(file: str, version: str, output: str) -> None:
    wishes = ["--https", "--ca-file=/ca", "--http-timeout=1500ms", "--managed-resource=a.com/b=ignored"]
    result = run(f"--plugin={file}:Picky", f"--config-version={version}", f"--output={output}", *wishes)
    assert (result.exit_code, result.stderr) == (0, "")
    (extender,) = load(result.stdout).extenders
    assert (extender.url_prefix, extender.filter_verb) == ("https://127.0.0.1:8888", "filter")
    assert (extender.enable_https, extender.node_cache_capable, extender.ignorable) == (True, False, False)
    assert str(extender.http_timeout) == "1.5s"
    assert extender.tls_config is not None
    assert extender.tls_config.ca_file == "/ca"
    assert [(resource.name, resource.ignored_by_scheduler) for resource in extender.managed_resources] == [
        ("a.com/b", True)
    ]


@pytest.mark.parametrize(
    ("name", "options", "names"),
    [
        ("Picky", [], False),
        ("Picky", ["--node-names"], True),
        ("Careful", [], True),
        ("Careful", ["--full-nodes"], False),
        ("Neighbours", [], True),
    ],
)
def test_nodes_are_sent_as_the_extender_without_further_flags_needs_them(
    file: str, name: str, options: list[str], names: bool
) -> None:
    """An extender without access to the cluster needs whole nodes; a plugin that binds or reads pods needs access."""
    assert entry(f"--plugin={file}:{name}", *options)["nodeCacheCapable"] is names


@pytest.mark.parametrize("version", ["policy-v1", "v1alpha2"])
def test_spellings_of_old_versions(file: str, version: str) -> None:
    made = entry(f"--plugin={file}:Picky", f"--config-version={version}", "--https")
    assert made["enableHttps"] is True
    assert made["httpTimeout"] == 5_000_000_000


def test_wishes(file: str) -> None:
    made = entry(
        f"--plugin={file}:Fond",
        "--url-prefix=http://a/b",
        "--prioritize-verb=rank",
        "--weight=7",
        "--full-nodes",
        "--ignorable",
        "--managed-resource=a.com/b",
    )
    assert made == {
        "urlPrefix": "http://a/b",
        "prioritizeVerb": "rank",
        "weight": 7,
        "httpTimeout": "5s",
        "nodeCacheCapable": False,
        "managedResources": [{"name": "a.com/b"}],
        "ignorable": True,
    }


@pytest.mark.parametrize(
    ("plugin", "options", "words"),
    [
        ("Idle", [], "an extender cannot serve it: filter, score, select_victims or bind is needed"),
        ("factory", [], "expected a class, since its methods determine the verbs"),
        ("Nobody", [], 'has no "Nobody"'),
        ("Picky", ["--url-prefix=https://a"], "--url-prefix https://a: add --https"),
        ("Picky", ["--url-prefix=a"], "--url-prefix a: it must begin with http://"),
        ("Picky", ["--http-timeout=5"], '--http-timeout: time: missing unit in duration "5"'),
        ("Picky", ["--managed-resource=a/b=c"], "--managed-resource a/b=c: expected NAME or NAME=ignored"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(file: str, plugin: str, options: list[str], words: str) -> None:
    result = run(f"--plugin={file}:{plugin}", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("stowplan: --")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_reserve_without_effect_needs_no_bind_verb() -> None:
    """NodeResourceTopologyMatch reserves only with a cache, which its args turn on."""
    printed = CliRunner().invoke(cli, ["config", "extender", "--plugin", "NodeResourceTopologyMatch", "-o", "json"])
    (entry,) = json.loads(printed.stdout)["extenders"]
    assert {name for name in entry if name.endswith("Verb")} == {"filterVerb", "prioritizeVerb"}
