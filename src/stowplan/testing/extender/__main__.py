"""`python -m stowplan.testing.extender`: check any extender from a terminal."""

from __future__ import annotations

import json
import ssl
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from stowplan.errors import StowplanError
from stowplan.testing.extender.check import check_extender
from stowplan.testing.extender.releases import RELEASES


@click.command()
@click.argument("url_prefix")
@click.option("--filter-verb", default="", help="Check this verb, as filterVerb.")
@click.option("--prioritize-verb", default="", help="Check this verb, as prioritizeVerb.")
@click.option("--preempt-verb", default="", help="Check this verb, as preemptVerb.")
@click.option("--bind-verb", default="", help="Check this verb, as bindVerb, with a pod that does not exist.")
@click.option("--node-cache-capable/--full-nodes", default=None, help="Only one of the list modes; both by default.")
@click.option(
    "--release",
    "releases",
    multiple=True,
    type=click.Choice(list(RELEASES)),
    help="Only this release; may be given again.",
)
@click.option(
    "--pod", "pod_file", type=click.Path(exists=True, dir_okay=False), help="The pod of the requests, as JSON."
)
@click.option(
    "--nodes",
    "nodes_file",
    type=click.Path(exists=True, dir_okay=False),
    help="The nodes of the requests: a NodeList as JSON.",
)
@click.option("--timeout", default=5.0, show_default=True, help="httpTimeout, in seconds.")
@click.option("--fuzz", default=0, help="Number of malformed requests in addition.")
@click.option("--seed", default=0, help="Seed of the malformed requests.")
@click.option("--ca", type=click.Path(exists=True), help="Trust this authority (PEM).")
@click.option("--cert", type=click.Path(exists=True), help="Client certificate (PEM), with --key.")
@click.option("--key", type=click.Path(exists=True))
@click.option("--insecure", is_flag=True, help="Do not verify the certificate of the extender.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def main(
    url_prefix: str,
    releases: tuple[str, ...],
    pod_file: str | None,
    nodes_file: str | None,
    timeout: float,
    ca: str | None,
    cert: str | None,
    key: str | None,
    insecure: bool,
    output: str,
    **options: Any,
) -> None:
    """Call the extender at URL_PREFIX as every release of kube-scheduler does, and report errors.

    Exit status: 0 no errors, 1 errors, 2 the extender could not be checked.
    """
    if not any(value for name, value in options.items() if name.endswith("_verb")):
        raise click.UsageError("Name at least one verb, such as --filter-verb filter.")
    try:
        findings = check_extender(
            url_prefix,
            releases=releases or tuple(RELEASES),
            pod=None if pod_file is None else json.loads(Path(pod_file).read_text()),
            nodes=None if nodes_file is None else json.loads(Path(nodes_file).read_text())["items"],
            http_timeout=timeout,
            tls=_context(ca, cert, key, insecure),
            **options,
        )
    except (StowplanError, OSError, ValueError, LookupError) as problem:
        click.echo(f"cannot be checked: {problem}", err=True)
        sys.exit(2)
    for finding in findings:
        click.echo(json.dumps(asdict(finding)) if output == "json" else str(finding))
    if output == "text" and not findings:
        click.echo("no problems")
    sys.exit(any(finding.level == "error" for finding in findings))


def _context(ca: str | None, cert: str | None, key: str | None, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert is not None:
        context.load_cert_chain(cert, key)
    return context


if __name__ == "__main__":
    main(prog_name="python -m stowplan.testing.extender")
