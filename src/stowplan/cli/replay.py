"""`stowplan replay`: decides again about the pods of a recording, or of a live cluster as a shadow."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli.command import Command
from stowplan.cli.emulated_version import emulated_version_option
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.plugins import load_plugins, plugin_option, print_plugin_bugs
from stowplan.cli.streams import aligned
from stowplan.errors import InputError

if TYPE_CHECKING:
    from stowplan.cli.state import ClusterLogin
    from stowplan.config.releases import Release
    from stowplan.study.shadow import Shadow

    MakeShadow = Callable[[Release], Shadow]

_MAX_SHOWN_DECISIONS = 20


@click.command(cls=Command)
@click.argument("file", metavar="[FILE]", default="")
@click.option(
    "--from-cluster", is_flag=True, help="Follow a live cluster as a shadow of its scheduler, in place of FILE."
)
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="With --from-cluster: kubeconfig; default as for kubectl."
)
@click.option("--context", default="", metavar="NAME", help="With --from-cluster: context of the kubeconfig.")
@click.option(
    "--for", "length", default="10m", show_default=True, metavar="TIME", help="With --from-cluster: how long."
)
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file.")
@emulated_version_option("that of the recording or cluster, else 1.36")
@plugin_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a pod would be elsewhere or wait.")
@click.option("--all", "everything", is_flag=True, help="List every difference.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output format."
)
def replay(
    file: str,
    from_cluster: bool,
    kubeconfig: str,
    context: str,
    length: str,
    config_file: str | None,
    release: Release | None,
    plugins: tuple[str, ...],
    exit_code: bool,
    everything: bool,
    output: str,
) -> None:
    """Decide again about each pod that was bound in a recording FILE, with another configuration or plugin.

    Each decision is made on the state just before the binding, and the binding of the recording is then followed, so
    one difference does not cause the next. Bindings that overtook each other are put into the order of the queue. Nodes
    with equal totals are ties. With --from-cluster the bindings of a live
    cluster are followed: a shadow of its scheduler, which only reads.

    \b
    Examples:
      stowplan record monday.rec.gz --for 2h
      stowplan replay monday.rec.gz --config packed.yaml
      stowplan replay --from-cluster --for 30m --plugin ./rack_care.py

    Exit status: 0 replayed, 1 with --exit-code: there are differences, 2 the input is invalid, 4 a plugin has a bug.
    """
    from stowplan.cli.profiles import load_config
    from stowplan.cli.state import ClusterLogin
    from stowplan.plugins.registry import REGISTRY
    from stowplan.study.shadow import ELSEWHERE, WAITS, Shadow

    if bool(file) == from_cluster:
        raise click.UsageError("Give a recording (FILE), or --from-cluster.")
    registered = load_plugins(plugins)
    now = _Clock()

    def make_shadow(of_source: Release) -> Shadow:
        config = load_config(config_file, registered, release or of_source)
        return Shadow(config, {**REGISTRY, **registered}, now)

    if from_cluster:
        shadow, complete = _follow(make_shadow, now, ClusterLogin(kubeconfig, context), length), True
    else:
        shadow, complete = _replay_file(make_shadow, now, file)
    _print(shadow, output, complete=complete, everything=everything)
    if bugs := shadow.engine.plugin_bugs():
        print_plugin_bugs(bugs)
        click.get_current_context().exit(ExitStatus.PLUGIN_BUG)
    if exit_code and (shadow.counts[ELSEWHERE] or shadow.counts[WAITS]):
        click.get_current_context().exit(ExitStatus.CHECK_FAILED)


class _Clock:
    """The time of the recording, in seconds since its start."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _replay_file(make_shadow: MakeShadow, clock: _Clock, file: str) -> tuple[Shadow, bool]:
    """Returns the shadow, and whether the recording is complete."""
    from stowplan.config.releases import LATEST, release_of
    from stowplan.study.binding_order import BindingOrder, pods_last
    from stowplan.traces.cluster_recording import ClusterRecording

    recording = ClusterRecording(Path(file))
    version = recording.header.release
    try:
        shadow = make_shadow(release_of(version) if version else LATEST)
    except ValueError as error:
        raise InputError(f"{file}: $.release: {error}") from error
    for change, item in BindingOrder(pods_last(recording.changes())):
        clock.now = max(clock.now, change.time)
        if item is not None and change.removed:
            shadow.remove(item)
        elif item is not None:
            shadow.put(item)
    if not recording.complete:
        click.echo(f"stowplan: {file}: the recording is not complete; replayed up to {clock.now:.0f} s", err=True)
    return shadow, recording.complete


def _follow(make_shadow: MakeShadow, clock: _Clock, login: ClusterLogin, length: str) -> Shadow:
    from stowplan.cli.record import check_readable, watch
    from stowplan.cluster.discovery import server_release
    from stowplan.cluster.kubeconfig import load_connection
    from stowplan.config.releases import LATEST
    from stowplan.simulator.scenario.quantities import seconds_of

    try:
        seconds = seconds_of(length)
    except ValueError as error:
        raise InputError(f"--for {length}: {error}") from error
    connection = load_connection(login.kubeconfig, context=login.context)
    asyncio.run(check_readable(connection))
    shadow = make_shadow(server_release(connection) or LATEST)
    sink = _ShadowSink(shadow, clock)

    def listed() -> None:
        sink.listed()
        click.echo(f"stowplan: {connection.url}: all objects listed; following for {length}, or until Ctrl-C", err=True)

    asyncio.run(watch(connection, sink, seconds, listed, lambda: False))
    if not sink.is_listed:
        raise InputError(f"{connection.url}: not all objects were listed in {length}")
    return shadow


class _ShadowSink:
    """Passes the changes of a live cluster on to a shadow. Pods wait until all kinds, listed in parallel, are there."""

    def __init__(self, shadow: Shadow, clock: _Clock) -> None:
        self._shadow = shadow
        self._clock = clock
        self._began = time.time()
        self.is_listed = False
        self._pods: list[tuple[Callable[[Any], None], Any]] = []

    def put(self, kind: Any, items: list[Any]) -> None:
        for item in items:
            self._pass(kind, self._shadow.put, item[0] if isinstance(item, tuple) else item)

    def removed(self, kind: Any, items: list[Any]) -> None:
        for item in items:
            self._pass(kind, self._shadow.remove, item)

    def listed(self) -> None:
        self.is_listed = True
        for step, item in self._pods:
            step(item)
        self._pods.clear()

    def _pass(self, kind: Any, step: Callable[[Any], None], item: Any) -> None:
        self._clock.now = time.time() - self._began
        if kind.name == "Pod" and not self.is_listed:
            self._pods.append((step, item))
        else:
            step(item)


def _print(shadow: Shadow, output: str, *, complete: bool, everything: bool) -> None:
    counts = shadow.counts
    if output == "json":
        import msgspec

        document = {"complete": complete, "bound": sum(counts.values()), "verdicts": dict(counts),
                    "differences": [each._asdict() for each in shadow.decisions]}  # fmt: skip
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        return
    whole = sum(counts.values())
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common()) or "none"
    click.echo(f"{whole:,} bound pod{'' if whole == 1 else 's'}: {verdicts}")
    if shadow.decisions:
        rows = [("TIME", "POD", "BOUND TO", "WOULD BE ON", "POINTS", "VERDICT")]
        shown = shadow.decisions if everything else shadow.decisions[:_MAX_SHOWN_DECISIONS]
        rows += [
            (f"{each.time:.1f}", each.pod, each.bound, each.chosen or "-", f"+{each.points}", each.verdict)
            for each in shown
        ]
        click.echo("\n".join(line.rstrip() for line in aligned(rows, left=(1, 2, 3, 5))))
        if len(shown) < len(shadow.decisions):
            click.echo(f"and {len(shadow.decisions) - len(shown):,} more; --all lists them")
