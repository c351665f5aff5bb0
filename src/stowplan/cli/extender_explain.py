"""`stowplan extender explain`: prints the recorded decisions of an extender about a pod."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import click

from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import opened, shown
from stowplan.errors import InputError

_HTTP_TIMEOUT_SECONDS = 10.0
_MAX_LISTED_NODES = 10

Entry = dict[str, Any]


@click.command(cls=Command)
@click.argument("pod", metavar="POD")
@click.option(
    "--from",
    "source",
    default="http://127.0.0.1:8888",
    show_default=True,
    metavar="URL|FILE",
    help="URL of the extender (of its --metrics-port, if set), or the file of --decision-log.",
)
@click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of POD, if POD is only a name.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
def explain(pod: str, source: str, namespace: str, output: str) -> None:
    """Print the decisions of an extender about POD (namespace/name or a uid) with their reasons, the latest first.

    \b
    Examples:
      stowplan extender explain shop/web-0
      stowplan extender explain web-0 -n shop --from decisions.jsonl

    Exit status: 0 decisions were found, 2 no decision was found, or the source cannot be read.
    """
    if namespace and "/" not in pod:
        pod = f"{namespace}/{pod}"
    with Progress() as progress:
        progress.start(f"reading {source}")
        found = _fetched(source, pod) if source.startswith(("http://", "https://")) else _looked_up(source, pod)
    if not found:
        raise InputError(f"{shown(source)}: no decision about {pod} is recorded")
    for entry in found:
        click.echo(json.dumps(entry) if output == "json" else "\n".join(_described(entry)))


def _fetched(url: str, pod: str) -> list[Entry]:
    address = f"{url.rstrip('/')}/debug/decisions?pod={quote(pod, safe='')}"
    try:
        with urlopen(address, timeout=_HTTP_TIMEOUT_SECONDS) as reply:
            found: list[Entry] = json.load(reply)
            return found
    except (OSError, HTTPException, ValueError) as problem:
        if getattr(problem, "code", 0) == 404:
            return []
        cause = getattr(problem, "reason", problem)
        text = getattr(cause, "strerror", None) or cause
        raise InputError(f"{url}: cannot read decisions: {text}; is this the address of an extender?") from problem


def _looked_up(file: str, pod: str) -> list[Entry]:
    found: list[Entry] = []
    with opened(file) as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if pod in (entry["decision"]["pod"], entry["decision"].get("uid")):
                    found.append(entry)
            except (ValueError, LookupError, TypeError) as problem:
                raise InputError(f"{shown(file)}: line {number}: not a decision") from problem
    return found[::-1]


def _described(entry: Entry) -> Iterator[str]:
    decision: dict[str, Any] = entry["decision"]
    yield f"{entry['time']} {entry['verb']} {decision['pod']}: {_outcome(entry['verb'], decision)}"
    if decision.get("error"):
        yield f"  {decision['error']}"
    rejected: dict[str, list[str]] = {}
    for node, why in (decision.get("rejected") or {}).items():
        rejected.setdefault(f"{', '.join(why.get('reasons') or ())} ({why.get('plugin', '')})", []).append(node)
    for reason, nodes in rejected.items():
        yield f"  {reason}: {_some(nodes)}"
    scores: dict[int, list[str]] = {}
    for node, score in (decision.get("totals") or {}).items():
        scores.setdefault(score, []).append(node)
    for score in sorted(scores, reverse=True):
        yield f"  score {score}: {_some(scores[score])}"
    for candidate in (decision.get("preemption") or {}).get("candidates") or ():
        yield f"  on {candidate['node']}: {_some(candidate['victims'])} may be evicted"


def _outcome(verb: str, decision: dict[str, Any]) -> str:
    if decision.get("error"):
        return "failed"
    if verb == "filter":
        return f"{len(decision.get('feasible') or ())} of {decision.get('nodes', 0)} nodes pass"
    return f"to {decision['node']}" if verb == "bind" and decision.get("node") else "answered"


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = len(listed) - _MAX_LISTED_NODES
    return ", ".join(listed[:_MAX_LISTED_NODES]) + (f" and {more} more" if more > 0 else "")
