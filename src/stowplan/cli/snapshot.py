"""`stowplan snapshot`: the objects that scheduling reads, in one file."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress

import click

from stowplan.cli.command import Command
from stowplan.cli.state_options import StateRequest, state_options
from stowplan.cli.streams import STDIN
from stowplan.errors import InputError

_FILE_MODE = 0o600


@click.command(cls=Command)
@click.argument("file", metavar="FILE|-")
@state_options
@click.option("--compress", is_flag=True, help="Compress with gzip; implied by a FILE that ends in .gz.")
@click.option(
    "--keep-annotation",
    "keep_annotations",
    multiple=True,
    metavar="KEY",
    help="Keep this annotation, which a plugin of yours reads; may be given again.",
)
@click.option("--anonymize", is_flag=True, help="Replace names, namespaces, label values and images.")
def snapshot(
    file: str, request: StateRequest, compress: bool, keep_annotations: tuple[str, ...], anonymize: bool
) -> None:
    """Write everything that scheduling reads into one FILE, for 'explain', 'what-if', 'simulate' and other commands.

    With --from-cluster, the objects of a cluster as they are, which takes one list request for each kind. With -f, the
    simulated cluster when nothing changes any more.

    The release of Kubernetes is recorded, so that answers about the snapshot follow the rules of that release.

    Only fields that scheduling reads are written: no environment variables, command lines, probes, secrets or other
    annotations than those that scheduling reads. Names, labels and images are written. The FILE can be read by its
    owner only.

    With --anonymize names, namespaces, uids, label values, images and ids of volumes are replaced, the same text by the
    same other text everywhere, so that decisions stay the same. Keys of labels and taints, resource names, drivers,
    provisioners, scheduler names, times, amounts, device attributes, and label values that are numbers stay.

    Give the FILE to a command with --from FILE, or with --base FILE and manifests to apply to it with -f.

    \b
    Examples:
      stowplan snapshot cluster.json.gz --from-cluster
      stowplan snapshot for-a-bug-report.json.gz --from-cluster --anonymize
      stowplan explain shop/web-0 --from cluster.json.gz
      stowplan simulate cluster.json.gz deployment.yaml

    Exit status: 0 written, 2 the state cannot be read, or the file not written.
    """
    from msgspec.structs import replace

    from stowplan.simulator.input.anonymization import anonymized
    from stowplan.simulator.input.snapshot_file import encode_snapshot, make_header, sanitized

    if anonymize and keep_annotations:
        raise click.UsageError("--anonymize and --keep-annotation exclude each other.")
    with request.open() as state:
        source = state.as_of.source if state.live is not None else ""
        header = make_header(state.simulation.clock(), source, state.namespace, state.config.release)
        objects = sanitized(state.current_objects(), keep_annotations)
    if anonymize:
        header, objects = replace(header, source="", namespace="", anonymized=True), anonymized(objects)
    content = encode_snapshot(header, objects, compress=compress or file.endswith(".gz"))
    if file == STDIN:
        sys.stdout.buffer.write(content)
        return
    _write(file, content)
    count = sum(map(len, objects.values()))
    click.echo(f"stowplan: {file}: {count:,} objects, {len(content):,} bytes", err=True)


def _write(file: str, content: bytes) -> None:
    """Writes a file for its owner only; a file that exists is replaced when the new one is complete."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".snapshot-", dir=os.path.dirname(file) or ".")
        with os.fdopen(descriptor, "wb") as stream:
            os.chmod(temporary, _FILE_MODE)
            stream.write(content)
        os.replace(temporary, file)
    except OSError as problem:
        with suppress(OSError):
            os.unlink(temporary)
        raise InputError(f"{file}: {problem.strerror or problem}") from problem
