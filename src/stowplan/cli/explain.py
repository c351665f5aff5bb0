"""`stowplan explain`: why a pod is pending, or why it is on its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stowplan.cli.answers import ALL, DEFAULT_TOP, EXIT_PENDING, as_option, output_option, print_answer
from stowplan.cli.command import Command
from stowplan.cli.state_options import StateRequest, state_options

if TYPE_CHECKING:
    from stowplan.cli.state import State
    from stowplan.insight.finding import FoundPod
    from stowplan.insight.workloads import WorkloadReference


@click.command(cls=Command)
@click.argument("pod", required=False, metavar="[POD|WORKLOAD]")
@state_options
@as_option
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=DEFAULT_TOP,
    show_default=True,
    help="Length of lists: closest nodes, best nodes, reasons.",
)
@click.option("--all", "everything", is_flag=True, help="Whole lists; in JSON and YAML also the answer for every node.")
@output_option
def explain(pod: str | None, request: StateRequest, profile: str, top: int, everything: bool, output: str) -> None:
    """Explain why a pod is pending, with figures and checked changes, or why it is on its node.

    POD is namespace/name, a name in the namespace of -n, or a uid. WORKLOAD is Deployment/web and the like: its pending
    pods are grouped by reason. Without an argument, all pending pods are listed by reason.

    \b
    Examples:
      stowplan explain web-0 -n shop -f cluster.yaml
      stowplan explain Deployment/web -n shop --from-cluster
      stowplan explain --from-cluster

    Exit status: 0 the pod is placed or fits, 3 it is pending, 2 the input is invalid.
    """
    from stowplan.insight.workloads import workload_reference

    top = ALL if everything else top
    with request.open() as state:
        state.insight.check_profile(profile)
        reference = None if pod is None else workload_reference(pod, state.namespace)
        if pod is None or reference is not None:
            pending = _print_groups(state, reference, request.namespace, output, top)
        else:
            found = state.insight.find(pod, state.namespace)
            pending = _print_pod(state, found, profile, output, top, details=everything)
    click.get_current_context().exit(EXIT_PENDING if pending else 0)


def _print_groups(state: State, reference: WorkloadReference | None, namespace: str, output: str, top: int) -> bool:
    from msgspec.structs import replace

    from stowplan.insight.explain import run
    from stowplan.insight.text.groups import groups_lines

    insight = state.insight
    slices = insight.pending(namespace) if reference is None else insight.workload(reference, top=min(top, ALL))
    answer = replace(run(slices), as_of=state.as_of)
    print_answer(answer, output, lambda layout: groups_lines(answer, layout), top)
    return bool(answer.groups)


def _print_pod(state: State, found: FoundPod, profile: str, output: str, top: int, *, details: bool) -> bool:
    from msgspec.structs import replace

    from stowplan.insight.explain import run
    from stowplan.insight.text.pending import pending_lines
    from stowplan.insight.text.placed import placed_lines

    if found.placed:
        placed = run(state.insight.explain_placed(found.pod, top=top, profile=profile))
        placed = replace(placed, as_of=replace(state.as_of, recomputed=placed.as_of.recomputed))
        print_answer(placed, output, lambda layout: placed_lines(placed, layout), top)
        return False
    explanation = replace(
        run(state.insight.explain(found.pod, top=top, profile=profile, details=details)), as_of=state.as_of
    )
    print_answer(explanation, output, lambda layout: pending_lines(explanation, layout), top)
    return explanation.verdict != "fits"
