"""`stowplan record`: writes the changes of a live cluster into a file."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import click

from stowplan.cli.command import Command
from stowplan.errors import InputError

_POLL_SECONDS = 0.2


@click.command(cls=Command)
@click.argument("file", metavar="FILE")
@click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig file; default as for kubectl.")
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--for", "length", default="", metavar="TIME", help="Stop after this time, such as 10m; default: until Ctrl-C."
)
@click.option(
    "--max-size", type=click.IntRange(1), default=1024, show_default=True, metavar="MIB", help="Stop at this file size."
)
def record(file: str, kubeconfig: str, context: str, length: str, max_size: int) -> None:
    """Record what happens in a cluster into FILE, for 'stowplan replay'.

    All objects that scheduling reads are listed and watched; each change is written with its time, compressed. Only
    fields that scheduling reads are written: no environment variables, command lines or secrets. The FILE can be read
    by its owner only. Only GET requests are sent.

    \b
    Examples:
      stowplan record monday.rec.gz --for 2h
      stowplan replay monday.rec.gz --config packed.yaml

    Exit status: 0 recorded, 2 the cluster cannot be read or the file not written.
    """
    from stowplan.cluster.discovery import server_release
    from stowplan.cluster.kubeconfig import load_connection
    from stowplan.simulator.scenario.quantities import seconds_of
    from stowplan.traces.cluster_recording import RecordingWriter

    try:
        seconds = seconds_of(length) if length else None
    except ValueError as error:
        raise InputError(f"--for {length}: {error}") from error
    connection = load_connection(kubeconfig, context=context)
    asyncio.run(check_readable(connection))
    release = server_release(connection)
    version = "" if release is None else release.version
    writer = RecordingWriter(Path(file), connection.url, time.time, max_size * 2**20, version)

    def listed() -> None:
        writer.listed()
        end = f"for {length}, or until Ctrl-C" if length else "until Ctrl-C"
        click.echo(f"stowplan: {file}: {writer.changes:,} objects listed; recording {end}", err=True)

    try:
        asyncio.run(watch(connection, writer, seconds, listed, lambda: writer.full))
    finally:
        writer.close()
    if not writer.is_listed:
        raise InputError(f"{file}: ended before all objects were listed; the recording is not complete")
    note = "; stopped at --max-size" if writer.full else ""
    click.echo(f"stowplan: {file}: {writer.changes:,} changes{note}", err=True)


async def check_readable(connection: Any) -> None:
    """Raise ClusterError if nodes and pods cannot be listed. Reflectors would try again and again."""
    from stowplan.cluster.client import Client

    client = Client(connection)
    try:
        for path in ("/api/v1/nodes", "/api/v1/pods"):
            await client.get(path, {"limit": "1"})
    finally:
        await client.close()


async def watch(connection: Any, sink: Any, seconds: float | None, on_listed: Any, is_full: Any) -> None:
    """List and watch all kinds that scheduling reads, until the time is over, an interrupt, or `is_full`."""
    from stowplan.cluster.client import Client
    from stowplan.cluster.reflector import REQUIRED_KINDS, Reflector
    from stowplan.simulator.input import SIMULATED

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    client = Client(connection)
    waiting = set(SIMULATED)
    tracked = _Tracked(sink, waiting, on_listed)
    tasks = [
        asyncio.create_task(Reflector(client, kind, tracked, required=name in REQUIRED_KINDS).run())
        for name, kind in SIMULATED.items()
    ]
    try:
        ends = None if seconds is None else loop.time() + seconds
        while not stop.is_set() and not is_full() and (ends is None or loop.time() < ends):
            failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
            if failed and failed[0] is not None:
                raise failed[0]
            try:
                await asyncio.wait_for(stop.wait(), _POLL_SECONDS)
            except TimeoutError:
                continue
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()


class _Tracked:
    """Passes everything on to a sink, and reports when all kinds are listed."""

    def __init__(self, sink: Any, waiting: set[str], on_listed: Any) -> None:
        self._waiting = waiting
        self._on_listed = on_listed
        self.put = sink.put
        self.removed = sink.removed

    def synced(self, kind: Any) -> None:
        self._done(kind)

    def missing(self, kind: Any) -> None:
        self._done(kind)

    def forbidden(self, kind: Any, verb: str) -> None:
        self._done(kind)

    def _done(self, kind: Any) -> None:
        if kind.name in self._waiting:
            self._waiting.discard(kind.name)
            if not self._waiting:
                self._on_listed()
