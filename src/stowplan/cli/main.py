"""The `stowplan` command: finds the subcommand, imports only that, and turns errors into a line and an exit status."""

import os
import sys
import traceback
from contextlib import suppress
from typing import IO, Any

import click

from stowplan._version import __version__
from stowplan.cli import shell_completion, warnings
from stowplan.cli.command import CommandEntry, LazyGroup
from stowplan.cli.verbosity import TRACEBACKS_FROM, parse_verbosity, tracebacks_wanted
from stowplan.errors import StowplanError

EXIT_INTERRUPTED = 130


COMMANDS = {
    "scheduler": CommandEntry(
        "stowplan.cli.scheduler", "scheduler", "Schedule pods on a cluster, as kube-scheduler does."
    ),
    "extender": CommandEntry("stowplan.cli.extender", "extender", "Serve plugins to kube-scheduler as an extender."),
    "simulate": CommandEntry(
        "stowplan.cli.simulate", "simulate", "Say where pods would go: manifests in, placements out."
    ),
    "demo": CommandEntry("stowplan.cli.demo", "demo", "Watch a scheduler at work on a cluster in this process."),
    "evaluate": CommandEntry(
        "stowplan.cli.evaluate", "evaluate", "Say what the scheduler decides: a case in, a verdict out."
    ),
    "bench": CommandEntry("stowplan.cli.bench", "bench", "Measure how fast decisions are made."),
    "config": CommandEntry("stowplan.cli.config", "config", "Check, convert and complete scheduler configuration."),
    "new-plugin": CommandEntry("stowplan.cli.new_plugin", "new_plugin", "Make a project for a plugin of your own."),
    "completion": CommandEntry(
        "stowplan.cli.completion", "completion", "Print a script for completion by bash, zsh or fish."
    ),
    "version": CommandEntry("stowplan.cli.version", "version", "Print versions."),
}


class CommandFailure(click.ClickException):
    """A StowplanError on its way to the terminal: every line of it carries the program's name."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        for line in self.message.splitlines():
            click.echo(f"stowplan: {line}", file=file, err=True)


class Program(LazyGroup):
    """All commands; what goes wrong in one of them is told in a line."""

    def invoke(self, ctx: click.Context) -> None:
        try:
            super().invoke(ctx)
        except StowplanError as error:
            if tracebacks_wanted():
                traceback.print_exc()
            raise CommandFailure(str(error)) from error
        finally:
            # A reader that went away is noticed here, where click ends the program quietly, not at interpreter exit.
            sys.stdout.flush()


@click.group(cls=Program, entries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-v",
    "--v",
    "verbosity",
    default="0",
    callback=parse_verbosity,
    metavar="LEVEL",
    help=f"Verbosity. From {TRACEBACKS_FROM} on, errors come with a traceback.",
)
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version; 'version' tells more.")
def cli(verbosity: int) -> None:
    """Stowplan decides where pods go, as kube-scheduler does: same filters, same scores, same words.

    Manifests, cases and configuration come from files or standard input, results go to standard output, messages to
    standard error. Only 'scheduler' talks to a cluster, and if told so 'extender' and 'simulate', which only reads.

    \b
    Examples:
      Would this fit into the cluster, and if not, why?
        stowplan simulate --from-cluster -f deployment.yaml
      What does a scheduler at work look like?
        stowplan demo
      How do I begin with a scheduling rule of my own?
        stowplan new-plugin rack-care
      That rule behind the kube-scheduler that I have:
        stowplan extender --plugin rack-care/src/rack_care/plugin.py:RackCare
      Which nodes suit the pod of each case, and why not the others?
        stowplan evaluate cases.jsonl
      The same with your own scheduler configuration, from a pipe:
        stowplan evaluate --config scheduler.yaml - < cases.jsonl
      What is wrong with a configuration? And what is the default one?
        stowplan config check scheduler.yaml
        stowplan config default
      How many pods are decided in a second on this machine?
        stowplan bench decisions

    'stowplan COMMAND --help' tells more about a command. Colours are for terminals, and not where NO_COLOR is set.

    \b
    Exit status:
      0    done
      1    a check failed (bench, extender replay); the scheduler did not start, or ended against its will
      2    bad usage or input
      3    some pods are pending (simulate)
      130  interrupted
    """
    warnings.print_once(verbosity)


def main() -> int:
    """Run the command line and return the exit status."""
    if shell_completion.VARIABLE in os.environ:
        shell_completion.register()
    try:
        status: int | None = cli.main(prog_name="stowplan", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except OSError as error:
        # Of a reader that went away click has taken care: this is a full disk and its like.
        _drop_output()
        failure = CommandFailure(error.strerror or str(error))
        failure.show()
        return failure.exit_code
    return status or 0


def _drop_output() -> None:
    """Let what could not be written go, or the interpreter would try it once more when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
