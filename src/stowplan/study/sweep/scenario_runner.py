"""Runs of scenarios in a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration
from stowplan.config import read as read_config
from stowplan.config.text import parse
from stowplan.errors import PluginBugError
from stowplan.simulator.scenario import LoadedScenario, compile_scenario
from stowplan.simulator.scenario.reading import read_file
from stowplan.study.metric_names import MetricNames
from stowplan.study.run import RunSettings, run
from stowplan.study.sweep.document import Study, Variation, altered
from stowplan.study.sweep.input_files import InputFiles
from stowplan.study.sweep.paths import set_path
from stowplan.study.sweep.run_task import LoadPlugins, RunTask, make_task

RUNNER = f"{__name__}:run_scenario"
_CONFIG = "config"
_PLUGINS = "plugins"
_NO_CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class ScenarioTasks:
    """Makes tasks of a study's scenario. The metrics to compare are checked at once, every variation when its task is
    made."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._source = str(study.folder / study.spec.scenario)
        self._files = InputFiles()
        self._installed = self._files.of_installed()
        self._checked_configs: set[bytes] = set()
        self._document = _document(self._source)
        scenario = self._compiled(self._document)
        self.first_seed = scenario.spec.seed
        varied = msgspec.json.encode(study.spec.vary).decode()
        study.check_objectives(MetricNames(scenario, varied).problem)

    def task(self, variation: Variation, seed: int) -> RunTask:
        document, spec = altered(self._document), self._study.spec
        folder = self._study.folder
        plugins = _in_folder(document.pop(_PLUGINS, []), Path(self._source).parent)
        plugins += _in_folder(variation.values.get(_PLUGINS, spec.plugins), folder)
        config_file = self._config_file(document, variation)
        config = _document(str(config_file)) if config_file else altered(_NO_CONFIG)
        if not plugins:  # Otherwise the names of plugins are known when a run has loaded them.
            self._check_config(config, str(config_file))
        origin = self._study.origin
        for path, value in variation.values.items():
            if path.startswith(f"{_CONFIG}."):
                inner = path.removeprefix(f"{_CONFIG}.")
                set_path(_with_profile(config), inner, value, origin=f"{origin}{_CONFIG}.")
            elif path not in (_CONFIG, _PLUGINS):
                set_path(document, path, value, append=False, origin=origin)
        document.pop(_CONFIG, None)
        self._compiled(document)
        if not plugins:
            self._check_config(config, f"{origin}{_CONFIG}")
        files = self._files.of_scenario(document, Path(self._source).parent) | self._files.of_plugins(plugins)
        files |= self._installed
        parameters = {"source": self._source, "document": document, "config": config, "plugins": plugins}
        return make_task(RUNNER, parameters, variation.values, seed, msgspec.json.encode(files, order="sorted"))

    def _config_file(self, document: dict[str, Any], variation: Variation) -> Path | None:
        given = variation.values.get(_CONFIG) or self._study.spec.config
        if given:
            return self._study.folder / given
        own = document.get(_CONFIG)
        return Path(self._source).parent / own if own else None

    def _check_config(self, config: dict[str, Any], where: str) -> None:
        """Raises ConfigError before the first run if the configuration is invalid."""
        encoded = msgspec.json.encode(config)
        if encoded not in self._checked_configs:
            read_config(encoded, where, IN_TREE_PLUGINS)
            self._checked_configs.add(encoded)

    def _compiled(self, document: dict[str, Any]) -> LoadedScenario:
        return compile_scenario(document, self._source, Path(self._source).parent)


def run_scenario(parameters: Mapping[str, Any], load_plugins: LoadPlugins | None) -> dict[str, float]:
    """Run a scenario; returns its metrics, those of groups as `metric key`. Metrics without a value are left out."""
    source = parameters["source"]
    scenario = compile_scenario(parameters["document"], source, Path(source).parent)
    plugins = load_plugins(tuple(parameters["plugins"])) if load_plugins is not None else {}
    config: KubeSchedulerConfiguration = read_config(
        msgspec.json.encode(parameters["config"]), "config", IN_TREE_PLUGINS.union(plugins)
    ).config
    result = run(scenario, parameters["seed"], RunSettings(config=config, plugins=dict(plugins)))
    if result.plugin_bugs:  # Its metrics are not those of a scheduler with the plugin.
        raise PluginBugError("; ".join(f"plugin {name}: {bug}" for name, bug in result.plugin_bugs.items()))
    return {
        f"{each.metric} {each.key}" if each.key else each.metric: each.value
        for each in result.values
        if math.isfinite(each.value)
    }


def _document(source: str) -> dict[str, Any]:
    value, _ = parse(read_file(source), source)
    return altered(value)


def _with_profile(config: dict[str, Any]) -> dict[str, Any]:
    if not config.get("profiles"):
        config["profiles"] = [{"schedulerName": "default-scheduler"}]
    return config


def _in_folder(plugins: list[str], folder: Path) -> list[str]:
    """Plugins whose files, if the names are relative, are in a folder."""
    return [str(folder / each) if ".py" in each else each for each in plugins]
