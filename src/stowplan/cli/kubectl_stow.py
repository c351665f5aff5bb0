"""`kubectl stow`: the commands that answer about a cluster, as a kubectl plugin.

kubectl runs the program `kubectl-stow` for `kubectl stow`, with the arguments that follow.
"""

from __future__ import annotations

import sys

FROM_CLUSTER = "--from-cluster"

SUBCOMMANDS = ("explain", "why-not", "what-if", "web", "simulate", "snapshot", "diff")
_OTHER_SOURCES = ("--base", "--from", "--sample", FROM_CLUSTER)

_USAGE = f"""Answers about scheduling, from the cluster of the current kubectl context.

Usage: kubectl stow COMMAND [ARGS] [-n NAMESPACE] [--context NAME] [--kubeconfig FILE]

Commands: {", ".join(SUBCOMMANDS)}

'kubectl stow COMMAND --help' describes a command. The cluster is only read. Other sources: --from FILE, --base FILE.
"""


def arguments(given: list[str]) -> list[str] | None:
    """The arguments of the `stowplan` command; None if usage is to be printed.

    kubectl's flags before the command (`kubectl stow -n shop explain web`) are moved behind it.
    """
    index = next((at for at, each in enumerate(given) if each in SUBCOMMANDS), None)
    if index is None:
        return None if not given or given[0] in ("-h", "--help", "help") else given
    command, rest = given[index], [*given[index + 1 :], *given[:index]]
    asks_help = "-h" in rest or "--help" in rest
    has_source = any(each.partition("=")[0] in _OTHER_SOURCES for each in rest)
    if asks_help or has_source:
        return [command, *rest]
    return [command, FROM_CLUSTER, *rest]


def main() -> int:
    """The entry point of the program `kubectl-stow`; returns the exit status."""
    from stowplan.cli.main import main as run

    mapped = arguments(sys.argv[1:])
    if mapped is None:
        sys.stdout.write(_USAGE)
        return 0
    sys.argv[1:] = mapped
    return run()
