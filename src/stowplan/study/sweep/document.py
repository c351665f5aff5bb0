"""The Study document: what is run, with which parameters and seeds, and what is compared."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.text import parse
from stowplan.errors import InputError, os_error_text
from stowplan.simulator.scenario.reading import decode_document

KIND = "Study"
MAX_SWEEP_RUNS = 1_000_000

_SEARCHES = ("random", "optuna")


class StudyMetadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a study."""

    name: str = ""


class StudySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The fields of a Study."""

    api_version: str = ""
    kind: str = ""
    metadata: StudyMetadata = StudyMetadata()
    scenario: str = ""
    """The file of a Scenario."""
    runner: str = ""
    """Instead of a scenario: `package.module:function`. It takes `parameters`, with the seed, and returns metrics."""
    parameters: dict[str, Any] = {}
    """Of the runner."""
    config: str = ""
    """The file of a KubeSchedulerConfiguration; by default the scenario's."""
    plugins: list[str] = []
    """Plugins, as for --plugin, beside those of the scenario."""
    seeds: int | list[int] = 1
    """The number of seeds, from the scenario's on, or the seeds."""
    vary: dict[str, list[Any]] = {}
    """Values by path: into the scenario or the parameters, or into the configuration with the prefix `config.`. The
    paths `config` and `plugins` take files and lists of plugins."""
    search: str | dict[str, int] = "grid"
    """All combinations; or so many random ones; or so many that Optuna chooses."""
    minimise: list[str] = []
    maximise: list[str] = []


class Variation(NamedTuple):
    """One combination of values, by path."""

    values: Mapping[str, Any]

    @property
    def label(self) -> str:
        return ", ".join(f"{_tail(path)}={_short(value)}" for path, value in self.values.items()) or "-"


class Study(NamedTuple):
    """A study that was checked."""

    spec: StudySpec
    source: str
    folder: Path

    @property
    def name(self) -> str:
        return self.spec.metadata.name or Path(self.source).stem

    @property
    def origin(self) -> str:
        """What precedes a path of `vary` in errors."""
        return f"{self.source}: $.vary."

    def seeds(self, first: int) -> list[int]:
        given = self.spec.seeds
        return given if isinstance(given, list) else list(range(first, first + given))

    def variations(self) -> Iterator[Variation]:
        """The combinations of a grid, or random ones without repetition; the same in every call."""
        vary, search = self.spec.vary, self.spec.search
        total = 1
        for values in vary.values():
            total *= len(values)
        numbers: Any = range(total)
        if isinstance(search, dict) and "random" in search:
            numbers = random.Random("variations").sample(range(total), min(search["random"], total))
        for number in numbers:
            yield self.variation(number)

    def variation(self, number: int) -> Variation:
        """A combination of the grid by its number; the last path varies fastest."""
        chosen: list[Any] = []
        for values in reversed(self.spec.vary.values()):
            number, index = divmod(number, len(values))
            chosen.append(values[index])
        return Variation(dict(zip(self.spec.vary, reversed(chosen), strict=True)))

    @property
    def objectives(self) -> list[tuple[str, int]]:
        """Metrics with 1 (smaller is better) or -1 (larger is better)."""
        return [*((name, 1) for name in self.spec.minimise), *((name, -1) for name in self.spec.maximise)]

    def check_objectives(self, problem_of: Callable[[str], str]) -> None:
        """Raises ConfigError with a line for each metric of which the function returns a problem."""
        problems = Problems()
        for field in ("minimise", "maximise"):
            for index, metric in enumerate(getattr(self.spec, field)):
                if problem := problem_of(metric):
                    problems.add(f"$.{field}[{index}]", problem)
        if problems.errors:
            raise InvalidConfigurationError(self.source, problems.errors)


def load_study(source: str) -> Study:
    """Read a file. Paths in it are relative to its folder. Raises a StowplanError with one line per fault."""
    try:
        return read_study(Path(source).read_bytes(), source)
    except OSError as problem:
        raise InputError(f"{source}: {os_error_text(problem)}") from problem


def _is_search(given: str | dict[str, int]) -> bool:
    return (
        isinstance(given, dict)
        and len(given) == 1
        and all(name in _SEARCHES and number >= 1 for name, number in given.items())
    )


def read_study(text: bytes, source: str = "study") -> Study:
    value, repeated = parse(text, source, "study")
    problems = Problems(repeated)
    _, spec = decode_document(value, source, StudySpec, KIND, problems)
    if bool(spec.scenario) == bool(spec.runner):
        problems.required("$.scenario", "a scenario, or a runner")
    if spec.search != "grid" and not _is_search(spec.search):
        problems.add("$.search", "expected grid, {random: N} or {optuna: N}")
    if spec.seeds == [] or (isinstance(spec.seeds, int) and spec.seeds < 1):
        problems.add("$.seeds", "at least one seed is needed")
    number = math.prod(map(len, spec.vary.values())) * (len(spec.seeds) if isinstance(spec.seeds, list) else spec.seeds)
    if number > MAX_SWEEP_RUNS and spec.search == "grid":
        problems.add("$.vary", f"{number:,} runs, at most {MAX_SWEEP_RUNS:,} are possible")
    elif isinstance(spec.seeds, int) and spec.seeds > MAX_SWEEP_RUNS:
        problems.add("$.seeds", f"must be at most {MAX_SWEEP_RUNS:,}")
    if isinstance(spec.search, dict) and "optuna" in spec.search and not (spec.minimise or spec.maximise):
        problems.required("$.minimise", "optuna needs a metric to minimise or maximise")
    for path, values in spec.vary.items():
        if not values:
            problems.add(f"$.vary.{path}", "no values")
    if problems.errors:
        raise InvalidConfigurationError(source, problems.errors)
    return Study(spec, source, Path(source).parent)


def altered(document: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that may be changed."""
    return copy.deepcopy(dict(document))


def _tail(path: str) -> str:
    """The last two parts of a path."""
    return ".".join(path.rsplit(".", 2)[-2:])


def _short(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def pairs(study: Study, first_seed: int) -> Iterator[tuple[Variation, int]]:
    """Every variation with every seed."""
    return itertools.product(study.variations(), study.seeds(first_seed))
