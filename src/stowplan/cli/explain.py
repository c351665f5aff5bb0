"""`stowplan explain`: why a pod is pending, or why it is on its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stowplan.cli.answers import ALL, DEFAULT_TOP, as_option, output_option, print_answer
from stowplan.cli.command import Command
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.state_options import StateRequest, state_options

if TYPE_CHECKING:
    from stowplan.cli.remote_scheduler import RemoteScheduler
    from stowplan.cli.state import RunOptions, State
    from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation
    from stowplan.runtime import Decision

    Answer = Explanation | PlacedExplanation | PendingPods


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
      stowplan explain shop/web-0 --from cluster.json.gz
      stowplan explain shop/web-0 --from https://10.0.0.7:10259

    With --from URL a running 'stowplan scheduler' answers from its own state, with its queue; the credentials of the
    kubeconfig are sent. The account needs permission to get the non-resource URL /insight/v1/*.

    Exit status: 0 the pod is placed or fits, 3 it is pending, 2 the input is invalid, 4 a plugin has a bug.
    """
    top = ALL if everything else top
    remote, bugs = request.remote(), False
    if remote is not None:
        answer = _ask_scheduler(remote, pod, request.namespace, profile, top)
    else:
        with request.open(_recording(pod, top, timeline=output == "html")) as state:
            state.insight.check_profile(profile)
            answer = _answer(state, pod, request.namespace, profile, top, details=everything)
            if output == "html":
                from stowplan.cli.report import print_explanation

                print_explanation(state, answer)
                output = "printed"
            bugs = bool(state.plugin_bugs())
    status = ExitStatus.PENDING if _print(answer, output, top) else ExitStatus.SUCCESS
    click.get_current_context().exit(ExitStatus.PLUGIN_BUG if bugs else status)


def _recording(pod: str | None, top: int, *, timeline: bool) -> RunOptions | None:
    """Explains the pod's decision in a simulation when it is made, and records the timeline if wanted."""
    from stowplan.cli.state import RunOptions
    from stowplan.insight.placed import explain_decided
    from stowplan.simulator.timeline import RunTimeline

    recorded = RunTimeline(by_attempts=True) if timeline else None
    if pod is None:
        return RunOptions(timeline=recorded)

    def examine(decision: Decision, attempt: int) -> PlacedExplanation | None:
        known = (decision.pod.name, decision.pod.key, decision.pod.uid)
        return explain_decided(decision, top=top) if pod in known else None

    return RunOptions(examine=examine, timeline=recorded)


def _ask_scheduler(remote: RemoteScheduler, pod: str | None, namespace: str, profile: str, top: int) -> Answer:
    if pod is None:
        return remote.pending(namespace)
    return remote.explain(pod, namespace or remote.namespace, top, profile)


def _answer(state: State, pod: str | None, namespace: str, profile: str, top: int, *, details: bool) -> Answer:
    from stowplan.cli.state_answers import StateAnswers
    from stowplan.insight.explain import run
    from stowplan.insight.workloads import workload_reference

    answers = StateAnswers(state)
    if pod is None:
        return run(answers.pending(namespace))
    reference = workload_reference(pod, state.namespace)
    if reference is not None:
        return run(answers.workload(reference, top=top))
    return run(answers.explain(pod, state.namespace, top=top, profile=profile, details=details))


def _print(answer: Answer, output: str, top: int) -> bool:
    """Prints the answer; whether pods are pending."""
    from stowplan.framework.explanation import PendingPods, PlacedExplanation
    from stowplan.insight.text.groups import groups_lines
    from stowplan.insight.text.pending import pending_lines
    from stowplan.insight.text.placed import placed_lines

    if isinstance(answer, PendingPods):
        print_answer(answer, output, lambda layout: groups_lines(answer, layout), top)
        return bool(answer.groups or answer.not_created)
    if isinstance(answer, PlacedExplanation):
        print_answer(answer, output, lambda layout: placed_lines(answer, layout), top)
        return False
    print_answer(answer, output, lambda layout: pending_lines(answer, layout), top)
    return answer.verdict != "fits"
