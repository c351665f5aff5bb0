"""`stowplan scenario`: writes, checks, shows and runs Scenario documents."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli.command import Group
from stowplan.cli.plugins import plugin_option
from stowplan.cli.scenario_run import OUTPUTS, run_file
from stowplan.cli.streams import aligned
from stowplan.errors import ConfigError, InputError, os_error_text

if TYPE_CHECKING:
    from stowplan.simulator.scenario import LoadedScenario

_FIRST_EVENTS = 15

EXAMPLE = """\
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
metadata: {name: first-scenario}
seed: 1
until: {time: 1d}

nodes:
  pools:
  - name: general
    count: 20
    zones: {north-a: 1, north-b: 1}
    price: 1.5
    template:
      status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}

workloads:
- name: web
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers:
          - {name: main, image: web:1, resources: {requests: {cpu: "1", memory: 2Gi}}}
  replicas: {at: {0h: 20, 8h: 80, 18h: 30}, ramp: 10m}
- name: batch
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: batch}
    spec:
      parallelism: 4
      completions: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: main, image: batch:1, resources: {requests: {cpu: "2", memory: 4Gi}}}
  arrivals: {poisson: {rate: 30/h}}
  duration: {lognormal: {median: 20m, sigma: 0.8}, max: 6h}
  restart: {checkpoint: 10m}

failures:
- {nodes: {pool: general}, kind: fail, mtbf: 10d, mttr: 20m}

expect:
- {metric: wait.p95, where: {workload: batch}, below: 5m}
- {pods: {app: web}, all: running, at: 12h}
- {metric: utilisation.cpu, over: [9h, 17h], above: 0.3}
"""


@click.group(cls=Group)
def scenario() -> None:
    """Write, check, show and run scenarios: what happens in a simulated cluster over time.

    \b
    Examples:
      stowplan scenario init first.yaml
      stowplan scenario check scenario.yaml
      stowplan scenario show scenario.yaml
      stowplan scenario run scenario.yaml
    """


@scenario.command()
@click.argument("file", metavar="[FILE]", default="-")
def init(file: str) -> None:
    """Write a first scenario to FILE, or to standard output. A FILE that exists is not changed.

    \b
    Examples:
      stowplan scenario init first.yaml
    """
    if file == "-":
        click.echo(EXAMPLE, nl=False)
        return
    try:
        with Path(file).open("x", encoding="utf-8") as stream:
            stream.write(EXAMPLE)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            with suppress(OSError):
                Path(file).unlink()  # An incomplete file would be in the way of the next attempt.
        raise InputError(f"{file}: {os_error_text(error)}") from error
    click.echo(f"{file}: run it with 'stowplan scenario run {file}'")


@scenario.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
def check(files: tuple[str, ...]) -> None:
    """Check whether each FILE is a valid scenario, and print all errors with their paths.

    Manifests, CSV files and traces that the scenario names are read too, from beginning to end.

    \b
    Examples:
      stowplan scenario check scenario.yaml

    Exit status: 0 all files are valid, 2 at least one is not.
    """
    from stowplan.cli.scenario_run import load
    from stowplan.insight.text.layout import counted

    problems: list[str] = []
    for file in files:
        try:
            found = load(file)
            nodes = sum(pool.count for pool in found.pools) + _read_traces(found)
        except ConfigError as error:
            problems += error.problems
        except InputError as error:
            problems.append(str(error))
        else:
            click.echo(f"{file}: valid ({counted(nodes, 'node')}, {counted(len(found.workloads), 'workload')})")
    if problems:
        raise ConfigError(problems)


def _read_traces(scenario: LoadedScenario) -> int:
    """The number of nodes in a trace. Reads all arrivals too: raises InputError for faults anywhere in the files."""
    for trace in scenario.traces:
        if trace is not None:
            deque(trace.selected(), maxlen=0)
    return sum(1 for _ in scenario.node_trace.checked_nodes()) if scenario.node_trace is not None else 0


@scenario.command()
@click.argument("file", metavar="FILE")
@click.option("--seed", type=int, default=None, help="Seed of all random numbers; default that of the scenario.")
@click.option("--events", type=click.IntRange(0), default=_FIRST_EVENTS, show_default=True, help="Events to print.")
def show(file: str, seed: int | None, events: int) -> None:
    """Print the offered load of a scenario by resource, and its first arrivals.

    The offered load is rate x request x duration, summed over all workloads, divided by the allocatable amount of the
    nodes at the start. Above 1 the queue grows without end, unless an autoscaler adds nodes.

    \b
    Examples:
      stowplan scenario show scenario.yaml --events 50
    """
    from stowplan.cli.scenario_run import load
    from stowplan.simulator.scenario.offered_load import offered_load

    found = load(file)
    loads = offered_load(found)
    rows = [("RESOURCE", "OFFERED LOAD", "")]
    rows += [(name, f"{value:.3f}", "more than the nodes have" if value > 1 else "") for name, value in loads.items()]
    click.echo("\n".join(_trimmed(rows, (0, 2))) if loads else "The offered load is not known.")
    if events:
        click.echo("\n" + "\n".join(_trimmed([("TIME", "EVENT"), *_first_events(found, seed, events)], (0, 1))))


def _trimmed(rows: Sequence[Sequence[str]], left: tuple[int, ...]) -> list[str]:
    return [line.rstrip() for line in aligned(rows, left=left)]


def _first_events(found: LoadedScenario, seed: int | None, count: int) -> list[tuple[str, str]]:
    """Arrivals as they are drawn; nothing is scheduled."""
    from heapq import merge
    from itertools import islice

    from stowplan.simulator.scenario.quantities import time_text
    from stowplan.simulator.streams import RandomStreams

    streams = RandomStreams(found.spec.seed if seed is None else seed)
    numbers: Counter[str] = Counter()
    drawn: list[Any] = []
    for workload, trace in zip(found.workloads, found.traces, strict=True):
        if trace is not None:
            drawn.append(_named(trace.selected(), workload.name))
        elif workload.arrivals is not None:
            drawn.append(_named(workload.arrivals.draw(streams, workload.path), workload.name))
        elif workload.replicas is not None:
            drawn.append([(time, f"{workload.name}: {count} replicas") for time, count in workload.replicas.steps])
    rows = []
    for time, name in islice(merge(*drawn), count):
        numbers[name] += 1
        rows.append((time_text(time), name if ":" in name else f"{name} arrives ({numbers[name]})"))
    return rows


def _named(arrivals: Any, name: str) -> Any:
    return ((each.time, name) for each in arrivals)


@scenario.command("run")
@click.argument("file", metavar="FILE")
@click.option("--seed", type=int, default=None, help="Seed of all random numbers; default that of the scenario.")
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration in place of the scenario's.")
@plugin_option
@click.option("-o", "--output", type=click.Choice(OUTPUTS), default="table", show_default=True, help="Output format.")
@click.option("--out", default="", metavar="DIR", help="Write tables and run.json into this folder.")
@click.option("--all", "everything", is_flag=True, help="In tables: list every metric.")
@click.option(
    "--plot",
    "plots",
    multiple=True,
    metavar="METRIC=FILE",
    help="Write the chart of a metric over time, such as utilisation.cpu=use.svg, as SVG or, with the extra plots, as "
    "PNG; may be given again.",
)
def run_scenario(
    file: str,
    seed: int | None,
    config_file: str | None,
    plugins: tuple[str, ...],
    output: str,
    out: str,
    everything: bool,
    plots: tuple[str, ...],
) -> None:
    """Run a scenario, print its metrics and check its expectations. The same as 'stowplan simulate -f FILE'.

    \b
    Examples:
      stowplan scenario run scenario.yaml
      stowplan scenario run scenario.yaml --seed 2 --out results/
      stowplan scenario run scenario.yaml --plot utilisation.cpu=use.svg --plot pending=queue.svg

    Exit status: 0 all expectations hold, or there are none and no pod is pending, 2 the input is invalid, 3 there are
    no expectations and some pods are pending, 4 a plugin has a bug, 5 an expectation does not hold.
    """
    run_file(file, seed, config_file, plugins, output, out, everything, plots)


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenarios, for editors.

    \b
    Examples:
      stowplan scenario schema > scenario.schema.json
    """
    from stowplan.simulator.scenario.json_schema import schema_text

    sys.stdout.write(schema_text())
