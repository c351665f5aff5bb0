"""`stowplan what-if`: the difference that changes of a cluster would make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import load_plugins, print_plugin_bugs
from stowplan.cli.state_options import StateRequest, state_options

if TYPE_CHECKING:
    from stowplan.cli.state import State
    from stowplan.simulator.what_if.answer import WhatIfQuestion
    from stowplan.simulator.what_if.records import WhatIfAnswer
    from stowplan.simulator.what_if.run import ClusterRun

_TEXT_WIDTH = 100

_ORDER = "stowplan.what_if.order"
_CHANGES = (
    "add", "like", "drain", "fail", "cordon", "uncordon", "taint", "label", "set_", "scale", "delete", "weight",
    "without", "again", "names", "config_file", "plugins",
)  # fmt: skip


class OrderedCommand(Command):
    """A command that remembers the order in which options were given, in `ctx.meta`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        given = {name: iter(value) if isinstance(value, list) else iter([value]) for name, value in values.items()}
        ctx.meta[_ORDER] = [(param.name, next(given[param.name], None)) for param in order if param.name in _CHANGES]
        return super().parse_args(ctx, args)


def _change(*names: str, metavar: str, text: str, nargs: int = 1) -> Callable[[Any], Any]:
    return click.option(*names, multiple=True, metavar=metavar, nargs=nargs, help=text)


@click.command(cls=OrderedCommand)
@_change("--add", metavar="N", text="Add N nodes; --like NODE or -f FILE follows.")
@_change("--like", metavar="NODE", text="After --add: nodes with the labels, taints, size and daemons of NODE.")
@_change("--drain", metavar="NODE|KEY=VALUE", text="Drain and remove a node, or all nodes with a label.")
@_change("--fail", metavar="NODE|KEY=VALUE", text="Lose a node, or all nodes with a label, with their pods.")
@_change("--cordon", metavar="NODE|KEY=VALUE", text="Cordon nodes.")
@_change("--uncordon", metavar="NODE|KEY=VALUE", text="Uncordon nodes.")
@_change("--taint", metavar="NODE|KEY=VALUE TAINT", nargs=2, text="Taint nodes: key=value:effect; 'key-' removes it.")
@_change("--label", metavar="NODE|KEY=VALUE LABEL", nargs=2, text="Label nodes: key=value; 'key-' removes it.")
@_change("--set", "set_", metavar="WORKLOAD|POD R=Q,...", nargs=2, text="Other requests: cpu=1, or container:cpu=1.")
@_change("--scale", metavar="WORKLOAD=N", text="Another number of replicas.")
@_change("--delete", metavar="KIND/NAME", text="Delete an object, with everything that it controls.")
@_change("--weight", metavar="PLUGIN=W", text="Another weight of a score plugin.")
@_change("--without", metavar="PLUGIN", text="Disable a plugin.")
@_change("--again", metavar="NAMESPACE|WORKLOAD|all", text="Place pods again, in their old order.")
@click.option("--fit", metavar="WORKLOAD|POD|FILE", help="Count how many more replicas fit.")
@click.option(
    "--most", type=click.IntRange(1), default=10_000, show_default=True, help="With --fit: stop at this number."
)
@click.option("--enough", multiple=True, metavar="NODE", help="Find the fewest nodes like NODE with which all fit.")
@click.option("--removable", is_flag=True, help="Find nodes that could go with everything still placed.")
@click.option("--by", default="", metavar="LABEL", help="Show use by this label of nodes; default the zone.")
@click.option("--config-now", metavar="FILE", help="KubeSchedulerConfiguration of the run without changes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for ties between nodes.")
@state_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "wide", "json", "yaml", "html"]),
    default="text",
    show_default=True,
    help="Output format; 'wide' adds reasons and use by zone; 'html' is one file with the views of 'stowplan web'.",
)
@click.option("--all", "everything", is_flag=True, help="List every workload and name.")
def what_if(
    request: StateRequest,
    fit: str | None,
    most: int,
    enough: tuple[str, ...],
    removable: bool,
    by: str,
    config_now: str | None,
    seed: int,
    output: str,
    everything: bool,
    **changes: Any,
) -> None:
    """Show what would change: with more nodes, without a zone, with other requests, weights, or manifests.

    The cluster is copied into the simulator, which runs until nothing changes; then the changes are made in the order
    given, and it runs again. The result is the difference. Nothing is written to a cluster.

    Controllers recreate the pods of drained and failed nodes. Pods of DaemonSets and static pods are deleted with their
    node, and pods without a controller are lost. A drain lists the PodDisruptionBudgets that it violates, and does not
    wait for them. With --set, -f and --again pods are replaced all at once.

    The first '-f' is the state, unless --from-cluster or --base gives it. A '-f' after a change is applied as 'kubectl
    apply' does; directly after '--add N' it is the manifest of the nodes. --config and --plugin are changes as well;
    --config-now is the configuration to compare with, by default the default one.

    WORKLOAD is Deployment/web or shop/Deployment/web, with kubectl's names for kinds.

    \b
    Examples:
      What if a zone goes down?
        stowplan what-if --from-cluster --drain zone=eu-west-1c
      Do 20 more nodes help the pending pods, and how many are enough?
        stowplan what-if --from-cluster --add 20 --like node-7 --enough node-7
      How many more replicas fit?
        stowplan what-if --from-cluster --fit Deployment/web -n shop
      Does a manifest fit after a drain?
        stowplan what-if --base cluster.yaml --drain node-7 -f deployment.yaml
      Which pods would move with another weight?
        stowplan what-if -f cluster.yaml --weight NodeResourcesFit=5 --again shop

    Exit status: 0 all pods in question are placed, 3 some are pending, 2 the input is invalid, 4 a plugin has a bug.
    """
    from stowplan.cli.state import RunOptions
    from stowplan.plugins.registry import REGISTRY
    from stowplan.simulator.what_if.answer import what_if as answer_of
    from stowplan.simulator.what_if.run import ClusterRun, Setup

    ctx = click.get_current_context()
    order: list[tuple[str, Any]] = ctx.meta[_ORDER]
    has_base = bool(request.base or request.from_cluster or request.origin)
    names, order = _split_sources(order, has_base)
    opened = request._replace(names=names, config_file=config_now, plugins=())
    if not order and not fit and not enough and not removable:
        raise click.UsageError("Missing a change, --fit, --enough or --removable.")
    with opened.open(RunOptions(seed=seed, always=True)) as state:
        run = ClusterRun(state.simulation, state.recorder, Setup(state.config, {**REGISTRY, **state.plugins}))
        question = _question(request, state, order, fit, most, enough, removable, by)
        answer = _report(run, question, state) if output == "html" else answer_of(run, question)
    _print(answer, output, everything)
    if answer.plugin_bugs:
        ctx.exit(ExitStatus.PLUGIN_BUG)
    ctx.exit(ExitStatus.PENDING if _some_wait(answer) else ExitStatus.SUCCESS)


def _report(run: ClusterRun, question: WhatIfQuestion, state: State) -> WhatIfAnswer:
    """Prints the answer as a report; the state itself stays as it is."""
    from stowplan.cli.report import print_comparison
    from stowplan.cli.web_what_if import answer_and_maps
    from stowplan.simulator.what_if.serialized import raw_json
    from stowplan.simulator.what_if.text import what_if_lines
    from stowplan.web.what_if import ComparedRuns

    answer, maps = answer_and_maps(run.copy(), question)
    text = tuple(what_if_lines(answer, _TEXT_WIDTH))
    compared = ComparedRuns(
        id="1", state="done", command="", sentence=answer.sentence, answer=raw_json(answer), text=text
    )
    print_comparison(compared, maps, state, "#/what-if")
    return answer


def _some_wait(answer: WhatIfAnswer) -> bool:
    """Whether some pods in question are pending."""
    if answer.fit is not None and not answer.fit.replicas:
        return True
    return any(each.nodes < 0 for each in answer.enough) if answer.enough else bool(answer.waiting)


def _split_sources(order: list[tuple[str, Any]], has_base: bool) -> tuple[tuple[str, ...], list[tuple[str, Any]]]:
    """The files of the state, and the changes in order."""
    if has_base:
        return (), order
    number = next((index for index, (name, _) in enumerate(order) if name != "names"), len(order))
    return tuple(value for _, value in order[:number]), order[number:]


def _question(
    request: StateRequest,
    state: State,
    order: list[tuple[str, Any]],
    fit: str | None,
    most: int,
    enough: tuple[str, ...],
    removable: bool,
    by: str,
) -> WhatIfQuestion:
    from stowplan.simulator.what_if.answer import WhatIfQuestion

    changes = tuple(_changes(order, request, state))
    wanted = None if fit is None else _fit_object(fit, state)
    return WhatIfQuestion(changes, state.namespace, wanted, most, enough, removable, by)


def _fit_object(text: str, state: State) -> Any:
    """The object of a file, or the reference as it is."""
    import os

    from stowplan.cli.streams import read
    from stowplan.errors import InputError
    from stowplan.simulator.input import InputOptions, read_input
    from stowplan.simulator.workloads import pod_spec_of

    if text != "-" and not os.path.isfile(text):
        return text
    given = read_input([text], read, options=InputOptions(state.namespace, fragment=True))
    for item, _ in given.objects:
        if pod_spec_of(item) is not None:
            return item
    raise InputError(f"{text}: it contains no pod or workload")


def _changes(order: list[tuple[str, Any]], request: StateRequest, state: State) -> Iterator[Any]:
    from stowplan.simulator.what_if import parsing

    if request.config_file or request.plugins:
        yield _other_setup(request, state)
    waiting: int | None = None
    for name, value in order:
        if waiting is not None:
            if name == "like":
                yield parsing.nodes_like(waiting, value)
            elif name == "names":
                yield _nodes_of_file(waiting, value, state)
            else:
                break
            waiting = None
        elif name == "add":
            waiting = parsing.number(value, "--add")
        elif name == "like":
            raise click.UsageError("--like follows --add N.")
        elif name == "names":
            yield _manifests(value)
        elif name not in ("config_file", "plugins"):
            yield parsing.change(name, value)
    if waiting is not None:
        raise click.UsageError("--add N needs --like NODE or -f FILE after it.")


def _other_setup(request: StateRequest, state: State) -> Any:
    from stowplan.cli.profiles import load_config
    from stowplan.errors import InputError
    from stowplan.plugins.registry import REGISTRY
    from stowplan.simulator.what_if.profile_changes import OtherSetup
    from stowplan.simulator.what_if.run import Setup

    registered = load_plugins(request.plugins)
    config = load_config(request.config_file, registered, state.config.release)
    if config.extenders != state.config.extenders:
        raise InputError(f"{request.config_file}: its extenders are not those of --config-now, and cannot be compared")
    setup = Setup(config, {**REGISTRY, **registered})
    return OtherSetup(setup=setup, config=request.config_file or "", plugins=request.plugins)


def _nodes_of_file(number: int, file: str, state: State) -> Any:
    from stowplan import api
    from stowplan.cli.streams import read
    from stowplan.errors import InputError
    from stowplan.simulator.input import InputOptions, read_input
    from stowplan.simulator.what_if.node_changes import AddNodes

    given = read_input([file], read, options=InputOptions(state.namespace, fragment=True))
    node = next((item for item, _ in given.objects if isinstance(item, api.Node)), None)
    if node is None:
        raise InputError(f"{file}: there is no Node in it")
    return AddNodes(add=number, like=node.metadata.name, node=node)


def _manifests(file: str) -> Any:
    from stowplan.cli.streams import read
    from stowplan.simulator.what_if.workload_changes import ApplyManifests

    return ApplyManifests(file, read)


def _print(answer: WhatIfAnswer, output: str, everything: bool) -> None:
    from rich.console import Console

    from stowplan.simulator.what_if.serialized import to_json, to_yaml
    from stowplan.simulator.what_if.text import what_if_lines

    for note in answer.notes:
        click.echo(f"stowplan: {note}", err=True)
    print_plugin_bugs(answer.plugin_bugs)
    if output in ("json", "yaml"):
        sys.stdout.buffer.write((to_json if output == "json" else to_yaml)(answer))
        return
    if output == "html":
        return
    console = Console()
    width = console.width if console.is_terminal else None
    settings = {"top": 0} if everything else {}
    for line in what_if_lines(answer, width, wide=output == "wide", **settings):
        click.echo(line)
