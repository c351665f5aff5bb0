"""The `stowplan` command: imports the subcommand on demand and turns errors into one line and an exit status."""

import gc
import json
import os
import platform
import sys
import traceback
from contextlib import suppress
from typing import IO, Any

import click

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.cli import shell_completion
from stowplan.cli.command import Command, CommandEntry, LazyGroup
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.verbosity import print_warnings_once, tracebacks_wanted, verbosity_option
from stowplan.errors import PluginBugError, StowplanError

COMMANDS = {
    "scheduler": CommandEntry(
        "stowplan.cli.scheduler", "scheduler", "Run a scheduler on a cluster, with kube-scheduler's flags."
    ),
    "extender": CommandEntry("stowplan.cli.extender", "extender", "Serve plugins to kube-scheduler as an extender."),
    "simulate": CommandEntry("stowplan.cli.simulate", "simulate", "Simulate scheduling: manifests in, placements out."),
    "scenario": CommandEntry("stowplan.cli.scenario", "scenario", "Write, check, show and run scenarios."),
    "explain": CommandEntry(
        "stowplan.cli.explain", "explain", "Explain why pods are pending, or why a pod is on its node."
    ),
    "web": CommandEntry("stowplan.cli.web", "web", "Show a cluster, its queue and every explanation in a browser."),
    "why-not": CommandEntry("stowplan.cli.why_not", "why_not", "Explain why a pod is not on a node."),
    "snapshot": CommandEntry(
        "stowplan.cli.snapshot", "snapshot", "Write everything that scheduling reads into one file."
    ),
    "mcp": CommandEntry("stowplan.cli.mcp", "mcp", "Serve explain, why-not, what-if and simulate to agents over MCP."),
    "what-if": CommandEntry(
        "stowplan.cli.what_if", "what_if", "Show what changes of nodes, workloads and settings would do."
    ),
    "diff": CommandEntry("stowplan.cli.diff", "diff", "Compare two configurations, plugin versions or recorded runs."),
    "compare": CommandEntry(
        "stowplan.cli.compare", "compare", "Compare configurations on a scenario, over several seeds."
    ),
    "record": CommandEntry("stowplan.cli.record", "record", "Record what happens in a cluster into a file."),
    "replay": CommandEntry(
        "stowplan.cli.replay", "replay", "Decide again about the pods of a recording or a live cluster."
    ),
    "sweep": CommandEntry(
        "stowplan.cli.sweep", "sweep_command", "Run a scenario with many parameters and seeds, in parallel."
    ),
    "demo": CommandEntry("stowplan.cli.demo", "demo", "Watch a scheduler fill a simulated cluster."),
    "evaluate": CommandEntry(
        "stowplan.cli.evaluate", "evaluate", "Evaluate single decisions: JSON cases in, verdicts out."
    ),
    "bench": CommandEntry("stowplan.cli.bench", "bench", "Run benchmarks of scheduler and extender."),
    "config": CommandEntry("stowplan.cli.config", "config", "Check, convert and complete scheduler configuration."),
    "new-plugin": CommandEntry("stowplan.cli.new_plugin", "new_plugin", "Create a project for your own plugin."),
    "completion": CommandEntry(
        "stowplan.cli.completion", "completion", "Print a completion script for bash, zsh or fish."
    ),
    "version": CommandEntry("stowplan.cli.main", "version", "Print versions."),
    "help": CommandEntry("stowplan.cli.main", "help_", "Print the help of a command."),
}


class CommandError(click.ClickException):
    """A StowplanError for the terminal: each line starts with the program's name."""

    exit_code = ExitStatus.INVALID

    def show(self, file: IO[Any] | None = None) -> None:
        for line in self.message.splitlines():
            click.echo(f"stowplan: {line}", file=file, err=True)


class PluginBugCommandError(CommandError):
    """A plugin whose code is faulty."""

    exit_code = ExitStatus.PLUGIN_BUG


class Program(LazyGroup):
    """All commands. Prints a StowplanError as one line."""

    def invoke(self, ctx: click.Context) -> None:
        try:
            super().invoke(ctx)
        except StowplanError as error:
            if tracebacks_wanted():
                traceback.print_exc()
            raise (PluginBugCommandError if isinstance(error, PluginBugError) else CommandError)(str(error)) from error
        finally:
            # A broken pipe raises here, where click exits quietly, and not at interpreter exit.
            sys.stdout.flush()


@click.group(
    cls=Program,
    entries=COMMANDS,
    params=[verbosity_option(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, message="%(prog)s %(version)s", help="Print the version; 'stowplan version' prints more."
)
def cli() -> None:
    """Stowplan is a Kubernetes scheduler with kube-scheduler's filters, scores and messages, and plugins in Python.

    \b
    Start with:
      stowplan demo                        watch a scheduler fill a simulated cluster
      stowplan simulate --sample -o wide   schedule sample workloads; FILE takes yours
      stowplan new-plugin rack-care        create a plugin of your own, with tests

    Input is read from files or standard input; results go to standard output, messages to standard error. Only
    'scheduler' always connects to a cluster. 'extender' does if configured to, and 'simulate --from-cluster' reads one.

    \b
    Examples:
      Check whether a Deployment fits into the cluster, and if not, why:
        stowplan simulate --from-cluster deployment.yaml
      Run a plugin behind the kube-scheduler of your cluster:
        stowplan extender --plugin rack-care/src/rack_care/plugin.py
      Evaluate single decisions, with the reasons of rejected nodes:
        stowplan evaluate cases.jsonl
      Check a configuration, and print the default one:
        stowplan config check scheduler.yaml
        stowplan config default
      Measure scheduling decisions per second on this machine:
        stowplan bench decisions

    'stowplan help COMMAND' describes a command. Set NO_COLOR to disable colours on terminals.

    \b
    Exit status:
      0    success
      1    a check failed (bench, diff, replay, sweep), or the scheduler did not start or stopped unexpectedly
      2    invalid usage or input
      3    some pods are pending, or a node would not do (simulate, explain, why-not, what-if)
      4    a bug in a plugin: it is faulty, or it raised an exception
      5    an expectation of a scenario does not hold, or a rule of compare --fail-if
      130  interrupted
    """
    print_warnings_once()


@click.command(cls=Command)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
def version(output: str) -> None:
    """Print the versions of Stowplan, Python, and the Kubernetes release that Stowplan reproduces.

    \b
    Examples:
      stowplan version
      stowplan version -o json
    """
    versions = {"stowplan": __version__, "python": platform.python_version(), "kubernetes": KUBERNETES_VERSION}
    if output == "json":
        click.echo(json.dumps(versions))
        return
    for name, value in versions.items():
        click.echo(f"{name:<11}{value}")


@click.command(cls=Command, name="help")
@click.argument("command", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Print the help of a COMMAND, or the list of commands. The same as 'stowplan COMMAND --help'.

    \b
    Examples:
      stowplan help
      stowplan help simulate
      stowplan help config extender
    """
    root = ctx.find_root()
    root.command.main([*command, "--help"], prog_name=root.info_name, standalone_mode=False)


def main() -> int:
    """Runs the command line and returns the exit status. The process ends after it."""
    try:
        return _run()
    finally:
        gc.freeze()  # Otherwise the interpreter looks for garbage among all objects: a tenth of a second with Dask.


def _run() -> int:
    if shell_completion.VARIABLE in os.environ:
        shell_completion.register()
    try:
        status: int | None = cli.main(prog_name="stowplan", standalone_mode=False)
    except click.UsageError as error:
        CommandError(_usage_problem(error)).show()
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    except OSError as error:
        # click handles broken pipes; this is a full disk or a similar error.
        _drop_output()
        failure = CommandError(error.strerror or str(error))
        failure.show()
        return failure.exit_code
    return status or 0


def _usage_problem(error: click.UsageError) -> str:
    """The problem in one line, and the command whose help has the answer."""
    command = "stowplan" if error.ctx is None else error.ctx.command_path
    return f"{error.format_message()} See '{command} --help'."


def _drop_output() -> None:
    """Discards unwritten output, which the interpreter would otherwise write again at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
