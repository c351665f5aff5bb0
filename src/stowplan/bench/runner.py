"""Runs scenarios and makes results of what was measured."""

import gc
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np
from msgspec.structs import replace

from stowplan.bench.calibration import calibrate
from stowplan.bench.memory import load_apart, rss_mib
from stowplan.bench.result import Result
from stowplan.bench.scenario import Scenario
from stowplan.bench.stage import Stage, build_stage
from stowplan.bench.trial import Trial

_TURN = 1000
"""Pods that a cluster is given before it is the next one's turn; the machine's speed may drift meanwhile."""

Progress = Callable[[str], None]


class Runner:
    """Runs scenarios, with other numbers of nodes and pods than theirs where that is asked for."""

    def __init__(
        self,
        *,
        nodes: int | None = None,
        pods: int | None = None,
        seed: int = 0,
        progress: Progress = lambda message: None,
        calibrate: Callable[[], float] = calibrate,
        build_stage: Callable[[Scenario, int, int], Stage] = build_stage,
    ) -> None:
        self.disagreements: list[str] = []
        self._nodes = nodes
        self._pods = pods
        self._seed = seed
        self._progress = progress
        self._calibrate = calibrate
        self._build_stage = build_stage

    def run(self, scenario: Scenario) -> list[Result]:
        """A result for each size of cluster that the scenario has."""
        sizes = (self._nodes,) if self._nodes and len(scenario.nodes) == 1 else scenario.nodes
        if scenario.kind == "memory":
            return [self._memory(scenario, sizes[0])]
        results = self._decisions(scenario, sizes)
        if scenario.kind == "scaling":
            least = results[0].cpu_us_per_pod
            results = [replace(result, cost_ratio=result.cpu_us_per_pod / least) for result in results]
        return results

    def _decisions(self, scenario: Scenario, sizes: Sequence[int]) -> list[Result]:
        """Decide on clusters of all sizes by turns, so that they meet the same machine."""
        count = self._pods or scenario.pods
        trials = [self._trial(scenario, size, count) for size in sizes]
        self._progress(f"{scenario.name}: deciding {count:,} pods")
        before = self._calibrate()
        for _ in range(0, count, _TURN):
            for trial in trials:
                trial.advance(_TURN)
        calibration = fmean((before, self._calibrate()))
        gc.collect()
        results = []
        for size, trial in zip(sizes, trials, strict=True):
            self.disagreements += trial.disagreements
            agreed = trial.checked - len(trial.disagreements)
            result = _result(scenario, size, trial.latencies, trial.cpu, calibration, rss_mib())
            results.append(replace(result, checked=trial.checked, agreed=agreed, unplaced=trial.unplaced))
        del trials, trial
        gc.unfreeze()
        gc.collect()
        return results

    def _trial(self, scenario: Scenario, size: int, count: int) -> Trial:
        self._progress(f"{scenario.name}: setting up {size:,} nodes")
        return Trial(scenario, self._build_stage(scenario, size, self._seed), count, self._seed)

    def _memory(self, scenario: Scenario, size: int) -> Result:
        count = self._pods or scenario.pods
        self._progress(f"{scenario.name}: loading {size:,} nodes and {count:,} pods in a process of its own")
        before = self._calibrate()
        loaded = load_apart(scenario, size, count, self._seed)
        calibration = fmean((before, self._calibrate()))
        return _result(scenario, size, loaded.latencies, loaded.cpu, calibration, loaded.rss_mib)


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
    )
