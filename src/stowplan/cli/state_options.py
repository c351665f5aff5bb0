"""The options by which a command gets its state, and the state that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stowplan.cli.emulated_version import emulated_version_option
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.progress import Progress
from stowplan.cli.streams import print_notes

if TYPE_CHECKING:
    from stowplan.cli.remote_scheduler import RemoteScheduler
    from stowplan.cli.state import RunOptions, State, StateOptions
    from stowplan.config.releases import Release


class StateRequest(NamedTuple):
    """The values of the options of `state_options`."""

    names: tuple[str, ...]
    base: str
    origin: str
    from_cluster: bool
    kubeconfig: str
    context: str
    certificate_authority: str
    insecure: bool
    namespace: str
    config_file: str | None
    release: Release | None
    plugins: tuple[str, ...]

    def remote(self) -> RemoteScheduler | None:
        """The running scheduler that `--from` names, if it names one. Raises StowplanError."""
        if "://" not in self.origin:
            return None
        from stowplan.cli.remote_scheduler import SchedulerAddress

        self.check_usage()
        unused = {
            "-f": self.names,
            "--config": self.config_file,
            "--emulated-version": self.release,
            "--plugin": self.plugins,
        }
        for name, value in unused.items():
            if value:
                raise click.UsageError(f"{name} cannot be used with a running scheduler, which has its own.")
        return SchedulerAddress(
            self.origin, self.kubeconfig, self.context, self.certificate_authority, self.insecure
        ).connect()

    @contextmanager
    def open(self, options: RunOptions | None = None) -> Iterator[State]:
        """The state; its notes are printed to standard error. Raises StowplanError, or UsageError without a source."""
        from stowplan.cli.profiles import load_config
        from stowplan.cli.state import open_state

        self.check_usage()
        if "://" in self.origin:
            raise click.UsageError("A running scheduler answers 'explain' and 'why-not' only; use a snapshot.")
        registered = load_plugins(self.plugins)
        source = self.source()
        config = load_config(self.config_file, registered, self.effective_release())
        with ExitStack() as stack:
            with Progress() as progress, print_notes() as notes:
                state = stack.enter_context(
                    open_state(source, config, registered, notes=notes, progress=progress, options=options)
                )
            yield state

    def source(self) -> StateOptions:
        """What the options name."""
        from stowplan.cli.state import ClusterLogin, StateOptions
        from stowplan.simulator.input import InputOptions

        return StateOptions(
            (self.base, *self.names) if self.base else self.names,
            ClusterLogin(self.kubeconfig, self.context) if self.from_cluster else None,
            self.origin,
            InputOptions(self.namespace),
            default_config=self.config_file is None,
        )

    def effective_release(self) -> Release:
        """The release of --emulated-version, else that of the cluster or snapshot, else the latest one."""
        from stowplan.cli.state import effective_release

        return effective_release(self.release, self.source())

    def check_usage(self) -> None:
        """Raises UsageError unless the options name one source."""
        given = {"--base": self.base, "--from": self.origin, "--from-cluster": self.from_cluster}
        used = [name for name, value in given.items() if value]
        if len(used) > 1:
            raise click.UsageError(f"{' and '.join(used)} exclude each other.")
        if not used and not self.names:
            raise click.UsageError("Missing the state: -f FILE, --base FILE, --from FILE|URL, or --from-cluster.")
        is_remote = "://" in self.origin
        if (self.kubeconfig or self.context) and not self.from_cluster and not is_remote:
            raise click.UsageError("--kubeconfig and --context need --from-cluster or --from URL.")
        if (self.certificate_authority or self.insecure) and not is_remote:
            raise click.UsageError("--certificate-authority and --insecure-skip-tls-verify need --from URL.")


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
    click.option(
        "--from",
        "origin",
        default="",
        metavar="FILE|URL",
        help="Use a snapshot, see 'stowplan snapshot', or a running 'stowplan scheduler': https://HOST:10259.",
    ),
    click.option("--from-cluster", is_flag=True, help="Use the objects of a cluster, which is only read."),
    click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig file; default as for kubectl."),
    click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
    click.option(
        "--certificate-authority",
        default="",
        metavar="FILE",
        help="With --from URL: authority of the scheduler's certificate; default that of the kubeconfig's cluster.",
    ),
    click.option(
        "--insecure-skip-tls-verify",
        "insecure",
        is_flag=True,
        help="With --from URL: do not verify the scheduler's certificate. The server gets the credentials in any case.",
    ),
    click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of pods; default as for kubectl."),
    click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file."),
    emulated_version_option("that of the cluster or snapshot, else 1.36"),
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
