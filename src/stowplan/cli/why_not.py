"""`stowplan why-not`: why a pod is not on a node."""

from __future__ import annotations

import click

from stowplan.cli.answers import as_option, output_option, print_answer
from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.state_options import StateRequest, state_options


@click.command(cls=Command)
@click.argument("pod")
@click.argument("node")
@state_options
@as_option
@output_option
def why_not(pod: str, node: str, request: StateRequest, profile: str, output: str) -> None:
    """Explain why a pod is not on a node: every rule, with its requirement and the state of the node.

    If the node is rejected, the changes with which the pod fits there, each checked, and the rank of the node after
    them. If the node would do, its rank, and where the points went. POD is namespace/name, a name in the namespace of
    -n, or a uid.

    \b
    Examples:
      stowplan why-not web-0 node-1 -n shop -f cluster.yaml
      stowplan why-not shop/web-0 node-1 --from-cluster -o json
      stowplan why-not shop/web-0 node-1 --from https://10.0.0.7:10259

    Exit status: 0 the node would do, 3 it is rejected, 2 the input is invalid, 4 a plugin has a bug.
    """
    from stowplan.insight.explain import run
    from stowplan.insight.text.why_not import why_not_lines

    remote, bugs = request.remote(), False
    if remote is not None:
        answer = remote.why_not(pod, request.namespace or remote.namespace, node, profile)
    else:
        with request.open() as state:
            from stowplan.cli.state_answers import StateAnswers

            state.insight.check_profile(profile)
            answer = run(StateAnswers(state).why_not(pod, state.namespace, node, profile=profile))
            bugs = bool(state.plugin_bugs())
    print_answer(answer, output, lambda layout: why_not_lines(answer, layout))
    status = ExitStatus.SUCCESS if answer.fits else ExitStatus.PENDING
    click.get_current_context().exit(ExitStatus.PLUGIN_BUG if bugs else status)
