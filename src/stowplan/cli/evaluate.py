"""`stowplan evaluate`: cases in, verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.errors import InputError


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE...|-]")
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration for cases that bring none.")
@plugin_option
def evaluate(files: tuple[str, ...], config_file: str | None, plugins: tuple[str, ...]) -> None:
    """Say what kube-scheduler would say about each node, for each case given.

    Reads a case a line (JSON: `pod`, `nodes`, `pods`, and where they matter `config`, `services`, `pvcs`, `pvs`,
    `storageclasses`, `pdbs`, ...) from the FILEs or standard input, and writes a verdict a line in the same order:
    rejections by node with plugin and reasons, feasible nodes, scores, the message, victims. A broken line yields
    {"id": ..., "error": ...} in its place.

    \b
    Examples:
      stowplan evaluate cases.jsonl
      stowplan evaluate --plugin ./colour.py:FavouriteColour - < cases.jsonl
    """
    import msgspec

    from stowplan.config import load
    from stowplan.evaluation import Evaluator

    registered = load_plugins(plugins)
    evaluator = Evaluator(plugins=registered)
    if config_file is not None:
        config = load(_read(config_file), config_file, evaluator.known_plugins)
        evaluator = Evaluator(config, registered)
    encode = msgspec.json.Encoder().encode
    out = click.get_binary_stream("stdout")
    for line in _lines(files or ("-",)):
        out.write(encode(evaluator.line(line)) + b"\n")
        out.flush()


def _read(name: str) -> bytes:
    try:
        return click.get_binary_stream("stdin").read() if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror}") from problem


def _lines(files: Iterable[str]) -> Iterator[bytes]:
    """Lines that are not blank, file after file."""
    for name in files:
        try:
            stream = click.get_binary_stream("stdin") if name == "-" else Path(name).open("rb")
        except OSError as problem:
            raise InputError(f"{name}: {problem.strerror}") from problem
        with stream:
            yield from (line for line in stream if line.strip())
