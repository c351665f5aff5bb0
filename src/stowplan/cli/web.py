"""`stowplan web`: a cluster, its queue and every explanation in a browser."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from stowplan.cli.command import Command
from stowplan.cli.plugins import load_plugins
from stowplan.cli.scenario_run import is_scenario
from stowplan.cli.state_options import StateRequest, state_options

if TYPE_CHECKING:
    from stowplan.cli.remote_scheduler import RemoteScheduler
    from stowplan.cli.state import State
    from stowplan.serving.pages import Pages
    from stowplan.web.server import Stream
    from stowplan.web.source import StateSource

DEFAULT_PORT = 8259
TOKEN_VARIABLE = "STOWPLAN_WEB_TOKEN"
MIN_TOKEN_CHARACTERS = 16
_PORTS_TRIED = 20


class WebOptions(NamedTuple):
    """Where the page is served."""

    address: str
    port: int | None
    """None: the default port, or the next free one."""
    allowed_hosts: tuple[str, ...]
    certificate_file: str
    key_file: str
    open_browser: bool


@click.command(cls=Command)
@state_options
@click.option(
    "--recording",
    "recordings",
    multiple=True,
    metavar="FILE",
    help="Replay a recording of 'stowplan record', or show a run that a command wrote with -o html; two of these are "
    "compared.",
)
@click.option("--seed", type=int, help="With -f SCENARIO: in place of the scenario's seed.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port of the page; 0 for any free one. By default {DEFAULT_PORT}, or the next free port.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--bind-address",
    "address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. Others than loopback need --tls-cert-file, or --insecure.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME[:PORT]",
    help="A further name by which browsers call this server, such as that of a reverse proxy.",
)
@click.option("--tls-cert-file", "certificate_file", default="", metavar="FILE", help="Certificate; serves https.")
@click.option("--tls-private-key-file", "key_file", default="", metavar="FILE", help="Key of the certificate.")
@click.option(
    "--insecure",
    "plain_http",
    is_flag=True,
    help="Serve plain http on an address that other machines reach: they can read the token and the data.",
)
def web(
    request: StateRequest,
    recordings: tuple[str, ...],
    seed: int | None,
    port: int | None,
    open_browser: bool,
    address: str,
    allowed_hosts: tuple[str, ...],
    certificate_file: str,
    key_file: str,
    plain_http: bool,
) -> None:
    """Show a cluster, its queue and every explanation in a browser.

    Prints the address of the page and serves it until it is interrupted. The page is read-only and comes from this
    process alone: it changes nothing in a cluster and loads nothing from elsewhere. The address has a random token;
    without it other users of this machine see nothing. STOWPLAN_WEB_TOKEN sets the token, so that open pages stay
    logged in when the command is started again.

    \b
    Examples:
      stowplan web -f cluster.yaml --open
      stowplan web --from cluster.json.gz
      stowplan web --recording run.html
      stowplan web -f scenario.yaml
      stowplan web --from-cluster
      stowplan web --from https://10.0.0.7:10259

    With -f the manifests are simulated; a FILE of kind Scenario runs over simulated time. --from-cluster watches a
    cluster of any scheduler and explains pending pods by the filters of --config. With --from URL a running 'stowplan
    scheduler' answers, with its queue and its history; the credentials of the kubeconfig are sent, and the account
    needs permission to get the non-resource URL /insight/v1/* and to list pods in all namespaces.
    """
    _check_address(address, certificate_file, key_file, plain_http)
    options = WebOptions(address, port, allowed_hosts, certificate_file, key_file, open_browser)
    runs_scenario = not (request.base or request.origin or request.from_cluster) and is_scenario(request.names)
    if seed is not None and (recordings or not runs_scenario):
        raise click.UsageError("--seed needs -f with a file of kind Scenario.")
    if recordings:
        if request.base or request.origin or request.from_cluster or request.names:
            raise click.UsageError("--recording has a state of its own; leave out the other one.")
        _serve_recordings(recordings, request, options)
        return
    if runs_scenario:
        _serve_scenario(request, seed, options)
        return
    remote = request.remote()
    if remote is not None:
        _serve_scheduler(remote, request, options)
    elif request.from_cluster and not request.names:
        _serve_cluster(request, options)
    else:
        from stowplan.cli.web_state import recorded_decisions

        with request.open(recorded_decisions()) as state:
            serve_state(state, options)


def serve_state(state: State, options: WebOptions, *, recorded: bool = False) -> None:
    """Serves the page of a state until it is interrupted."""
    from stowplan.cli.web_what_if import StateWhatIf, offer_what_if

    with _source(state) as source:
        if recorded:
            source.shown.kind = "recording"
        offer_what_if(source, StateWhatIf(state))
        with _serving(*pages_of(source), options):
            _wait()


def _serve_scenario(request: StateRequest, seed: int | None, options: WebOptions) -> None:
    """The page of a scenario, which runs first."""
    from stowplan.cli.demo_page import timeline_state

    serve_state(timeline_state(request.names[0], request.config_file, request.plugins, seed), options)


def _serve_recordings(files: tuple[str, ...], request: StateRequest, options: WebOptions) -> None:
    """The page of a recorded run, or of two that are compared."""
    from stowplan.cli.web_recording import add_recorded_pages, compared, is_compressed, no_stream, read_recording
    from stowplan.serving.pages import Pages
    from stowplan.web.assets import add_asset_pages, read_assets

    if len(files) > 2:
        raise click.UsageError("--recording can be given twice.")
    if len(files) == 1 and is_compressed(files[0]):
        from stowplan.cli.demo_page import recorded_state
        from stowplan.cli.profiles import load_config

        plugins = load_plugins(request.plugins)
        state = recorded_state(files[0], load_config(request.config_file, plugins), plugins)
        serve_state(state, options, recorded=True)
        return
    pages = Pages()
    add_recorded_pages(pages, read_recording(files[0]) if len(files) == 1 else compared((files[0], files[1])))
    add_asset_pages(pages, read_assets())
    with _serving(pages, no_stream, options):
        _wait()


def _serve_scheduler(remote: RemoteScheduler, request: StateRequest, options: WebOptions) -> None:
    """The page of a running scheduler."""
    from stowplan.cli.state import ClusterLogin
    from stowplan.cli.web_from import SchedulerProxy
    from stowplan.cli.web_what_if import SchedulerWhatIf
    from stowplan.serving.pages import Pages
    from stowplan.web.assets import add_asset_pages, read_assets

    remote.check()
    what_if = SchedulerWhatIf(remote, ClusterLogin(request.kubeconfig, request.context))
    proxy, pages = SchedulerProxy(remote.connection, what_if), Pages()
    proxy.add_pages(pages)
    add_asset_pages(pages, read_assets())
    with _serving(pages, proxy.stream, options, proxy.close):
        _wait()


def _serve_cluster(request: StateRequest, options: WebOptions) -> None:
    """The page of a cluster, which is watched."""
    from stowplan.cli.profiles import load_config
    from stowplan.cli.web_cluster import WatchedCluster
    from stowplan.cli.web_what_if import ClusterWhatIf, offer_what_if
    from stowplan.cluster.kubeconfig import load_connection

    request.check_usage()
    registered = load_plugins(request.plugins)
    config = load_config(request.config_file, registered, request.effective_release())
    watched = WatchedCluster(load_connection(request.kubeconfig, context=request.context), config, registered)
    offer_what_if(watched.source, ClusterWhatIf(request.source(), config, registered))
    click.echo("stowplan: reading the cluster", err=True)
    with ExitStack() as stack:
        watched.run(lambda: stack.enter_context(_serving(*pages_of(watched.source), options)))


def pages_of(source: StateSource) -> tuple[Pages, Stream]:
    from stowplan.serving.pages import Pages
    from stowplan.web.assets import add_asset_pages, read_assets
    from stowplan.web.routes import add_data_pages
    from stowplan.web.stream import StreamHub

    pages = Pages()
    add_data_pages(pages, source)
    add_asset_pages(pages, read_assets())
    return pages, StreamHub(source).respond


@contextmanager
def _serving(
    pages: Pages, stream: Stream, options: WebOptions, close: Callable[[], Awaitable[None]] | None = None
) -> Iterator[None]:
    """Serves the pages, and prints their address. `close` is awaited at the end, on the server's event loop."""
    from stowplan.config.options import ServingOptions
    from stowplan.serving.certificates import ServerTLS
    from stowplan.web.access import PageAccess
    from stowplan.web.server import WebServer

    tls = None
    if options.certificate_file:
        serving = ServingOptions(
            address=options.address, certificate_file=options.certificate_file, key_file=options.key_file
        )
        tls = ServerTLS(serving).context
    token = _given_token()
    listener = _listen(options.address, options.port)
    port = listener.getsockname()[1]
    access = PageAccess(options.address, port, allowed_hosts=options.allowed_hosts, tls=tls is not None, token=token)
    server = WebServer(listener, pages, stream, access, tls, close)
    server.start()
    click.echo(access.url)
    click.echo("stowplan: serving the page; press Ctrl-C to stop", err=True)
    if options.open_browser:
        webbrowser.open(access.url_for_one_login())
    try:
        yield
    finally:
        server.stop()


def _given_token() -> str | None:
    """Raises ConfigError for a token that can be guessed."""
    from stowplan.errors import ConfigError

    token = os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and len(token) < MIN_TOKEN_CHARACTERS:
        raise ConfigError(f"{TOKEN_VARIABLE}: at least {MIN_TOKEN_CHARACTERS} characters are expected")
    return token


def _check_address(address: str, certificate_file: str, key_file: str, plain_http: bool) -> None:
    import ipaddress

    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise click.UsageError(f"--bind-address {address}: not an IP address.") from None
    if bool(certificate_file) != bool(key_file):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file belong together.")
    if not loopback and not certificate_file and not plain_http:
        raise click.UsageError(
            f"--bind-address {address}: other machines reach this address; add --tls-cert-file and "
            "--tls-private-key-file, or --insecure to send the token and the data in plain text."
        )


@contextmanager
def _source(state: State) -> Iterator[StateSource]:
    """The state as the source of the page."""
    from stowplan.cli.web_state import state_source
    from stowplan.web.owner import ThreadOwner

    owner = ThreadOwner()
    try:
        yield state_source(state, owner)
    finally:
        owner.close()


def _listen(address: str, port: int | None) -> socket.socket:
    """Listens on the port, or on the default one or a free one after it. Raises ConfigError."""
    from stowplan.config.options import ServingOptions
    from stowplan.errors import ConfigError
    from stowplan.serving.listening import listen

    if port is not None:
        return listen(ServingOptions(address=address, port=port))
    for number in range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED - 1):
        try:
            return listen(ServingOptions(address=address, port=number))
        except ConfigError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EADDRINUSE:
                raise
    return listen(ServingOptions(address=address, port=0))


def _wait() -> None:
    """Waits for an interrupt or SIGTERM."""
    stopping = threading.Event()
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not stopping.wait(3600):
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
