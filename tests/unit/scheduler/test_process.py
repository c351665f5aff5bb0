from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from stowplan import logs
from stowplan.cluster.connection import Connection
from stowplan.cluster.discovery import ServerFacts
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.config import default_configuration
from stowplan.config.flags.parsing import parse
from stowplan.config.options import Options
from stowplan.config.releases import LATEST, RELEASES, Release
from stowplan.config.types import Extender
from stowplan.errors import ConfigError
from stowplan.extender.client import CallOutcome, build_extenders
from stowplan.framework import Plugin
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.plugins.registry import REGISTRY
from stowplan.scheduler.process import SchedulerProcess, count_calls, log_loop_error, run
from stowplan.scheduler.scheduler import SchedulerSettings


def test_calls_of_extenders_are_counted() -> None:
    registry = MetricRegistry()
    (extender,) = extenders = build_extenders([Extender(url_prefix="http://a", filter_verb="f")])
    count_calls(extenders, ExtenderMetrics(registry))
    for _ in range(3):
        extender.observe(CallOutcome("http://a", "filter", "unreachable", 0.1))
        extender._breakers["filter"].failed("down", 5.0)
    told = registry.expose().decode()
    labels = 'extender="http://a",result="unreachable",verb="filter"'
    assert f"stowplan_extender_call_duration_seconds_count{{{labels}}} 3" in told
    assert 'stowplan_extender_circuit_open{extender="http://a",verb="filter"} 1' in told


def test_the_effective_configuration_has_the_plugins_that_it_did_not_name(tmp_path: Path) -> None:
    options = Options(config=default_configuration(), write_config_to=f"{tmp_path}/config.yaml")
    assert run(options, lambda release: options, {}, {"Mine": Plugin}) == 0
    assert "name: Mine" in (tmp_path / "config.yaml").read_text()


def test_a_configuration_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    options = Options(config=default_configuration(), write_config_to=f"{tmp_path}/none/config.yaml")
    with pytest.raises(ConfigError, match=r"--write-config-to: open .*/none/config.yaml: no such file or directory"):
        run(options, lambda release: options, {}, {})


def test_a_broken_connection_is_a_line_and_a_bug_is_a_traceback() -> None:
    said = io.StringIO()
    logs.configure(logs.LogOptions(), stderr=said)
    loop = asyncio.new_event_loop()
    try:
        problem = RuntimeError("the handler is closed")
        log_loop_error(loop, {"message": "Fatal error on SSL protocol", "exception": problem, "transport": object()})
        (line,) = said.getvalue().splitlines()
        assert line.endswith('"A connection broke" err="Fatal error on SSL protocol: the handler is closed"')
        log_loop_error(loop, {"message": "Task exception was never retrieved", "exception": problem})
        assert "the handler is closed" in said.getvalue().partition(line)[2]
    finally:
        loop.close()
        logs.configure(logs.LogOptions())


@pytest.mark.parametrize(
    ("flags", "server", "version", "claims"),
    [
        ([], ServerFacts(RELEASES["1.33"], ""), "1.33", False),
        ([], ServerFacts(RELEASES["1.33"], "v1beta2"), "1.33", True),
        (["--feature-gates=DynamicResourceAllocation=false"], ServerFacts(RELEASES["1.33"], "v1beta2"), "1.33", False),
        ([], ServerFacts(RELEASES["1.34"], "v1"), "1.34", True),
        (["--emulated-version=1.35"], ServerFacts(RELEASES["1.33"], "v1beta1"), "1.35", True),
    ],
)
def test_the_server_decides_the_rules_unless_a_flag_does(
    flags: list[str], server: ServerFacts, version: str, claims: bool
) -> None:
    def parse_for(release: Release) -> Options:
        return parse(flags, env={}, release=release)

    gates = [flag for flag in flags if flag.startswith("--feature-gates")]
    first = parse_for(RELEASES["1.33"] if gates else LATEST)
    connection = Connection("http://127.0.0.1:1", StoredCredentials())
    process = SchedulerProcess(SchedulerSettings(first, REGISTRY, connection), parse_for)
    settings = asyncio.run(process._settings_for(server))
    assert settings.resource_api == server.resource_api
    config = settings.options.config
    assert config.release.version == version
    enabled = {plugin.name for plugin in config.profiles[0].plugins.multi_point.enabled}
    assert ("DynamicResources" in enabled) is claims
