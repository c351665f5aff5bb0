"""The options by which a command gets its state, and the state that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.progress import Progress
from stowplan.cli.streams import print_notes

if TYPE_CHECKING:
    from stowplan.cli.state import RunOptions, State


class StateRequest(NamedTuple):
    """The values of the options of `state_options`."""

    names: tuple[str, ...]
    base: str
    origin: str
    from_cluster: bool
    kubeconfig: str
    context: str
    namespace: str
    config_file: str | None
    plugins: tuple[str, ...]

    @contextmanager
    def open(self, options: RunOptions | None = None) -> Iterator[State]:
        """The state; its notes are printed to standard error. Raises StowplanError, or UsageError without a source."""
        from stowplan.cli.profiles import load_config
        from stowplan.cli.state import ClusterLogin, StateSource, open_state
        from stowplan.simulator.input import InputOptions

        self.check_usage()
        registered = load_plugins(self.plugins)
        config = load_config(self.config_file, registered)
        source = StateSource(
            (self.base, *self.names) if self.base else self.names,
            ClusterLogin(self.kubeconfig, self.context) if self.from_cluster else None,
            self.origin,
            InputOptions(self.namespace),
            default_config=self.config_file is None,
        )
        with ExitStack() as stack:
            with Progress() as progress, print_notes() as notes:
                state = stack.enter_context(
                    open_state(source, config, registered, notes=notes, progress=progress, options=options)
                )
            yield state

    def check_usage(self) -> None:
        """Raises UsageError unless the options name one source."""
        given = {"--base": self.base, "--from": self.origin, "--from-cluster": self.from_cluster}
        used = [name for name, value in given.items() if value]
        if len(used) > 1:
            raise click.UsageError(f"{' and '.join(used)} exclude each other.")
        if not used and not self.names:
            raise click.UsageError("Missing the state: -f FILE, --base FILE, --from FILE, or --from-cluster.")
        if (self.kubeconfig or self.context) and not self.from_cluster:
            raise click.UsageError("--kubeconfig and --context need --from-cluster.")


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-f",
        "--filename",
        "names",
        multiple=True,
        metavar="FILE",
        help="Manifests: a file, a folder (its .yaml, .yml and .json files), or '-'. They are simulated until nothing "
        "changes; with --base or --from-cluster they are applied to that first.",
    ),
    click.option(
        "--base", default="", metavar="FILE", help="Manifests or a snapshot to which the manifests of -f are applied."
    ),
    click.option("--from", "origin", default="", metavar="FILE", help="Use a snapshot, see 'stowplan snapshot'."),
    click.option("--from-cluster", is_flag=True, help="Use the objects of a cluster, which is only read."),
    click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig file; default as for kubectl."),
    click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
    click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of pods; default as for kubectl."),
    click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file."),
    plugin_option,
)


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which receives a StateRequest as its argument `request`."""

    @wraps(command)
    def with_request(*args: Any, **values: Any) -> Any:
        request = StateRequest(**{name: values.pop(name) for name in StateRequest._fields})
        return command(*args, request=request, **values)

    for option in reversed(_OPTIONS):
        with_request = option(with_request)
    return with_request
