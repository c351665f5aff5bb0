"""`stowplan evaluate`: evaluates single scheduling decisions, cases in and lines of JSON out."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import FileCommand
from stowplan.cli.emulated_version import emulated_version_option
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.progress import Progress
from stowplan.cli.streams import STDIN, opened, shown
from stowplan.cli.verbosity import tracebacks_wanted
from stowplan.errors import InputError

if TYPE_CHECKING:
    from stowplan.config.releases import Release
    from stowplan.evaluation import Evaluator


@click.command(cls=FileCommand)
@click.argument("files", nargs=-1, metavar="[FILE...|-]")
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration for cases without their own.")
@emulated_version_option("1.36")
@click.option(
    "--group-fixes",
    is_flag=True,
    help="Decide pod groups without the mistakes of kube-scheduler v1.36 that later releases mend.",
)
@plugin_option
def evaluate(
    files: tuple[str, ...],
    config_file: str | None,
    release: Release | None,
    group_fixes: bool,
    plugins: tuple[str, ...],
) -> None:
    """Evaluate one scheduling decision per case, with kube-scheduler's verdict on each node.

    Reads cases from FILEs (-f FILE is accepted too) or standard input: one JSON object per line, or indented JSON or
    YAML with a case or a list of cases per document. Writes one verdict per line (JSON) in the same order: rejected
    nodes with plugin and reasons, feasible nodes, scores, the message, victims. An invalid case yields
    {"id": ..., "error": ...}; the other cases are not affected.

    \b
    Fields of a case; only `pod` is required:
      id              copied to the verdict
      pod             the pending pod
      nodes, pods     the cluster: nodes, and running pods with spec.nodeName
      nominatedPods   other pending pods, with status.nominatedNodeName
      config          KubeSchedulerConfiguration for this case, instead of --config
      release         release of kube-scheduler for this case, such as 1.34, instead of --emulated-version
      namespaces services replicasets replicationcontrollers statefulsets pdbs pvcs pvs
      storageclasses csinodes csidrivers csistoragecapacities volumeattachments
      resourceclaims resourceclaimtemplates deviceclasses resourceslices

    \b
    A case about a pod group has, instead of `pod`:
      group           namespace and name of the group
      groupPods       its pending members, in the order of the queue
      podGroups       PodGroups of scheduling.k8s.io/v1alpha2, also those of running pods
      gates           feature gates, words joined by "+": generic, gang, tas, wap, claims (default gang)
      ties            "name": the first by name of equal nodes and placements is chosen

    \b
    Examples:
      stowplan evaluate cases.jsonl
      stowplan evaluate case.yaml
      stowplan evaluate --plugin ./rack_care.py:RackCare - < cases.jsonl

    Exit status: 0 every case has a verdict; 2 a case has an error, or a file or the configuration is invalid; 4 a
    plugin has a bug.
    """
    evaluator = _evaluator(config_file, release, plugins, group_fixes)
    unreadable: list[str] = []
    cases = 0
    # On a terminal the verdicts themselves show the progress.
    with nullcontext() if sys.stdout.isatty() else Progress() as progress:
        for cases, case in enumerate(_cases(files or (STDIN,), unreadable), 1):
            sys.stdout.buffer.write(evaluator.answer(case))
            sys.stdout.buffer.flush()
            if progress is not None:
                progress.start(f"evaluated {cases:,} cases")
    if evaluator.failures:
        click.echo(f"stowplan: {evaluator.failures:,} of {cases:,} cases have an error instead of a verdict", err=True)
    if unreadable:
        raise InputError("\n".join(unreadable))
    if not cases:
        click.echo("stowplan: the input is empty: no cases", err=True)
    if evaluator.plugin_bugs or evaluator.failures:
        click.get_current_context().exit(ExitStatus.PLUGIN_BUG if evaluator.plugin_bugs else ExitStatus.INVALID)


def _evaluator(
    config_file: str | None, release: Release | None, plugins: tuple[str, ...], group_fixes: bool
) -> Evaluator:
    from stowplan.cli.config_files import config_reader
    from stowplan.cli.profiles import try_profiles
    from stowplan.config import IN_TREE_PLUGINS, default_configuration
    from stowplan.config.releases import LATEST
    from stowplan.evaluation import Evaluator

    registered = load_plugins(plugins)
    release = release or LATEST
    if config_file is not None:
        reader = config_reader(config_file, IN_TREE_PLUGINS.union(registered), release)
        try_profiles(reader(release), registered, shown(config_file))
        return Evaluator(reader, registered, _on_bug, release, group_fixes=group_fixes)
    if registered:
        try_profiles(default_configuration(release), registered, "--plugin")
    return Evaluator(None, registered, _on_bug, release, group_fixes=group_fixes)


def _cases(files: tuple[str, ...], unreadable: list[str]) -> Iterator[bytes]:
    """The cases of all files. A file that cannot be read is recorded in `unreadable` and skipped."""
    from stowplan.evaluation import cases_of

    for name in files:
        try:
            with opened(name) as stream:
                try:
                    yield from cases_of(stream)
                except InputError as problem:
                    unreadable.append(f"{shown(name)}: {problem}")
        except InputError as problem:
            unreadable.append(str(problem))


def _on_bug(bug: Exception) -> None:
    if tracebacks_wanted():
        traceback.print_exception(bug)
