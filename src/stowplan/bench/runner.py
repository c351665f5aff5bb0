"""Runs scenarios and computes their results."""

import gc
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np
from msgspec.structs import replace

from stowplan.bench.loop import LoopTrial
from stowplan.bench.machine import calibrate
from stowplan.bench.memory import load_apart, rss_mib
from stowplan.bench.result import Result
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import ScenarioCluster, build_scenario_cluster
from stowplan.bench.trial import CHECKED_DECISIONS, DecisionTrial

_PODS_PER_TURN = 1000
"""Clusters take turns after this number of pods, since the machine's speed may drift."""

Progress = Callable[[str], None]


class Runner:
    """Runs scenarios, optionally with other numbers of nodes and pods."""

    def __init__(
        self,
        *,
        nodes: int | None = None,
        pods: int | None = None,
        seed: int = 0,
        progress: Progress = lambda message: None,
        calibrate: Callable[[], float] = calibrate,
        build_scenario_cluster: Callable[[Scenario, int, int], ScenarioCluster] = build_scenario_cluster,
    ) -> None:
        self.disagreements: list[str] = []
        self._nodes = nodes
        self._pods = pods
        self._seed = seed
        self._progress = progress
        self._calibrate = calibrate
        self._build_scenario_cluster = build_scenario_cluster

    def run(self, scenario: Scenario) -> list[Result]:
        """A result for each size of cluster that the scenario has."""
        sizes = (self._nodes,) if self._nodes and len(scenario.nodes) == 1 else scenario.nodes
        if scenario.kind == "memory":
            return [self._memory(scenario, sizes[0])]
        thresholds = gc.get_threshold()
        results = [self._loop(scenario, sizes[0])] if scenario.kind == "loop" else self._decisions(scenario, sizes)
        gc.set_threshold(*thresholds)
        if scenario.kind == "scaling":
            least = results[0].cpu_us_per_pod
            results = [replace(result, cost_ratio=result.cpu_us_per_pod / least) for result in results]
        return results

    def _decisions(self, scenario: Scenario, sizes: Sequence[int]) -> list[Result]:
        """Decide on clusters of all sizes in turn, so that the machine's speed is the same for all."""
        count = self._pods or scenario.pods
        trials = [self._trial(scenario, size, count, checks=0) for size in sizes]
        self._progress(f"{scenario.name}: deciding {count:,} pods")
        before = self._calibrate()
        for _ in range(0, count, _PODS_PER_TURN):
            for trial in trials:
                trial.advance(_PODS_PER_TURN)
        calibration = fmean((before, self._calibrate()))
        gc.collect()
        results = [
            _result(scenario, size, trial.latencies, trial.cpu, calibration, rss_mib())
            for size, trial in zip(sizes, trials, strict=True)
        ]
        placements = [trial.placements for trial in trials]
        del trials, trial
        _thaw()
        return [self._checked(scenario, result, placed) for result, placed in zip(results, placements, strict=True)]

    def _loop(self, scenario: Scenario, size: int) -> Result:
        """The same pods as bare decisions and through the loop in turn, on equal clusters."""
        count = self._pods or scenario.pods
        bare = self._trial(scenario, size, count, checks=0)
        looped = LoopTrial(scenario, size, count, self._seed)
        self._progress(f"{scenario.name}: scheduling {count:,} pods")
        before = self._calibrate()
        for _ in range(0, count, _PODS_PER_TURN):
            bare.advance(_PODS_PER_TURN)
            looped.advance(_PODS_PER_TURN)
        calibration = fmean((before, self._calibrate()))
        peer, own = (
            _result(scenario, size, trial.latencies, trial.cpu, calibration, rss_mib()) for trial in (bare, looped)
        )
        rates = {"per_second": peer.per_second, "cpu_us_per_pod": peer.cpu_us_per_pod}
        ratios = {name: getattr(own, name) / value for name, value in rates.items()}
        del bare, looped
        _thaw()
        return replace(own, peers={"decisions": rates}, ratios={"decisions": ratios})

    def _checked(self, scenario: Scenario, result: Result, placements: list[str]) -> Result:
        """Decide all pods a second time, a sample of them also without caches, outside the measurement.

        Decisions without caches would slow down the measured decisions after them. All decisions must be equal to the
        first ones.
        """
        self._progress(f"{scenario.name}: checking {result.pods:,} decisions")
        trial = self._trial(scenario, result.nodes, result.pods, CHECKED_DECISIONS)
        trial.advance(result.pods)
        self.disagreements += trial.disagreements
        if trial.placements != placements:
            self.disagreements.append(f"{scenario.name}: decisions differ between two runs with the same seed")
        agreed = trial.checked - len(trial.disagreements)
        result = replace(result, checked=trial.checked, agreed=agreed, unplaced=trial.unplaced)
        del trial
        _thaw()
        return result

    def _trial(self, scenario: Scenario, size: int, count: int, checks: int) -> DecisionTrial:
        self._progress(f"{scenario.name}: setting up {size:,} nodes")
        return DecisionTrial(
            scenario, self._build_scenario_cluster(scenario, size, self._seed), count, self._seed, checks
        )

    def _memory(self, scenario: Scenario, size: int) -> Result:
        count = self._pods or scenario.pods
        self._progress(f"{scenario.name}: loading {size:,} nodes and {count:,} pods in a process of its own")
        before = self._calibrate()
        loaded = load_apart(scenario, size, count, self._seed)
        calibration = fmean((before, self._calibrate()))
        return _result(scenario, size, loaded.latencies, loaded.cpu, calibration, loaded.rss_mib)


def _thaw() -> None:
    """Let the garbage collector free the objects that a trial froze."""
    gc.unfreeze()
    gc.collect()


def _result(
    scenario: Scenario, size: int, latencies: Sequence[int], cpu: int, calibration: float, rss: float
) -> Result:
    count = len(latencies)
    per_second = count * 1e9 / sum(latencies)
    p50, p99 = np.percentile(latencies, (50, 99)) / 1000
    return Result(
        scenario=scenario.name,
        nodes=size,
        pods=count,
        per_second=per_second,
        cpu_us_per_pod=cpu / 1000 / count,
        p50_us=float(p50),
        p99_us=float(p99),
        rss_mib=rss,
        calibration_s=calibration,
        scaled_per_second=per_second * calibration,
        floor=scenario.floor,
        checked=0,
        agreed=0,
        unplaced=0,
        max_rss_mib=scenario.max_rss_mib,
        max_cost_ratio=scenario.max_cost_ratio,
        min_rate_ratio=scenario.min_rate_ratio,
    )
