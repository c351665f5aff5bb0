"""The whole server in this process, on loopback."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.unit.extender.server.examples import TIDY, request
from tests.unit.extender.server.fakes import connected

from stowplan.errors import ConfigError
from stowplan.extender.handlers import GroupMember
from stowplan.extender.server import extender as module
from stowplan.extender.server.configuration import from_options
from stowplan.extender.server.extender import ExtenderServer
from stowplan.optional_plugins.fractional_gpu import FractionalGPU
from stowplan.serving import ServingOptions, listen

pytestmark = pytest.mark.usefixtures("klog")

ANY_PORT = ServingOptions(address="127.0.0.1", port=0)
BODY = request(("n1", "yes"), ("n2", "no"))


def running(test: Callable[[ExtenderServer], Awaitable[None]], **options: Any) -> None:
    """Run a test beside an extender, which is stopped after it."""

    async def run() -> None:
        extender = ExtenderServer(from_options(**{"port": 0, **options}), [TIDY])
        serving = asyncio.create_task(extender.run())
        try:
            await asyncio.sleep(0)
            await asyncio.wait_for(test(extender), 60)
        finally:
            extender.stop()
            await asyncio.wait_for(serving, 30)

    asyncio.run(run())


class Certificates:
    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self._folder = folder
        self.authority.cert_pem.write_to_path(folder / "ca.crt")
        self.renew("localhost")

    def renew(self, *names: str) -> None:
        made = self.authority.issue_cert(*names)
        made.private_key_and_cert_chain_pem.write_to_path(self._folder / "pair.pem")

    @property
    def options(self) -> dict[str, str]:
        pair = str(self._folder / "pair.pem")
        return {"tls_cert_file": pair, "tls_private_key_file": pair}

    def client(self, common_name: str = "") -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if common_name:
            self.authority.issue_cert("client.invalid", common_name=common_name).configure_cert(context)
        return context


def test_verbs_and_pages_on_one_port() -> None:
    async def test(extender: ExtenderServer) -> None:
        async with connected(extender.scheduler_port.port) as wire:
            status, _, body = await wire.post("/filter", BODY)
            assert status == 200
            assert json.loads(body)["FailedNodes"] == {"n2": "untidy"}
            assert json.loads((await wire.post("/v1//prioritize", BODY))[2])[0] == {"Host": "n1", "Score": 2}
            assert (await wire.get("/readyz"))[2] == b"ok"
            assert b"requests_total" in (await wire.get("/metrics"))[2]
            entries = json.loads((await wire.get("/debug/decisions/uid-web"))[2])
            assert [entry["verb"] for entry in entries] == ["prioritize", "filter"]

    running(test)


@pytest.mark.parametrize(("address", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_an_open_port_is_warned_of(address: str, warned: bool, capsys: pytest.CaptureFixture[str]) -> None:
    async def test(extender: ExtenderServer) -> None:
        async with connected(extender.scheduler_port.port) as wire:
            assert (await wire.get("/healthz"))[0] == 200

    running(test, bind_address=address)
    assert ("require certificates by --client-ca-file" in capsys.readouterr().err) == warned


def test_pages_on_a_port_of_their_own() -> None:
    async def test(extender: ExtenderServer) -> None:
        assert extender.metrics_port is not None
        async with connected(extender.metrics_port) as wire:
            assert (await wire.get("/readyz"))[0] == 200
            assert (await wire.post("/filter", BODY))[0] == 405
        async with connected(extender.metrics_port) as wire:
            assert b"/metrics" in (await wire.get("/nope"))[2]
        async with connected(extender.scheduler_port.port) as wire:
            assert (await wire.get("/readyz"))[0] == 404

    running(test, metrics_port=0)


def test_clients_must_prove_who_they_are(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)

    async def test(extender: ExtenderServer) -> None:
        async def ask(client: ssl.SSLContext) -> tuple[int, int, int]:
            port, options = extender.scheduler_port.port, {"ssl": client, "server_hostname": "localhost"}
            async with connected(port, **options) as wire:
                verb = (await wire.post("/filter", BODY))[0]
            async with connected(port, **options) as wire:
                return verb, (await wire.get("/healthz"))[0], (await wire.get("/metrics"))[0]

        assert await ask(certificates.client()) == (401, 200, 401)
        assert await ask(certificates.client("somebody")) == (403, 200, 403)
        assert await ask(certificates.client("the-scheduler")) == (200, 200, 200)

    ca = str(tmp_path / "ca.crt")
    running(test, **certificates.options, client_ca_file=ca, allowed_names=("the-scheduler",))


def test_old_tls_is_refused(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)

    async def test(extender: ExtenderServer) -> None:
        client = certificates.client()
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        async with connected(extender.scheduler_port.port, ssl=client, server_hostname="localhost") as wire:
            assert (await wire.get("/healthz"))[0] == 200
        assert extender._tls is not None
        assert extender._tls.context.current.minimum_version == ssl.TLSVersion.TLSv1_2

    running(test, **certificates.options)


def test_a_certificate_that_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RELOAD_SECONDS", 0.05)
    certificates = Certificates(tmp_path)

    async def test(extender: ExtenderServer) -> None:
        async def names() -> list[str]:
            _, writer = await asyncio.open_connection(
                "127.0.0.1", extender.scheduler_port.port, ssl=certificates.client(), server_hostname="localhost"
            )
            found = writer.get_extra_info("peercert")["subjectAltName"]
            writer.close()
            return [name for _, name in found]

        assert await names() == ["localhost"]
        certificates.renew("localhost", "renewed.example.com")
        async with asyncio.timeout(60):
            while "renewed.example.com" not in await names():
                await asyncio.sleep(0.02)

    running(test, **certificates.options)


def test_a_replica_without_the_lease_answers_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lease:
        held = False

        def holds(self) -> bool:
            return self.held

        def start(self) -> None: ...
        def stop(self) -> None: ...

    lease = Lease()
    monkeypatch.setattr(module, "_connect", lambda config: None)

    async def test(extender: ExtenderServer) -> None:
        extender._lease = lease  # type: ignore[assignment]
        for held, status in ((False, 503), (True, 200)):
            lease.held = held
            async with connected(extender.scheduler_port.port) as wire:
                assert (await wire.post("/filter", BODY))[0] == status
            async with connected(extender.scheduler_port.port) as wire:
                assert (await wire.get("/readyz"))[0] == status

    running(test, leader_elect=True)


def test_plugins_that_hang_all_the_time() -> None:
    async def test(extender: ExtenderServer) -> None:
        exclusive = extender.handlers._state.exclusive
        for stuck, status in ((31, 200), (32, 500)):
            exclusive.stuck = stuck
            async with connected(extender.scheduler_port.port) as wire:
                assert (await wire.get("/livez"))[0] == status
        exclusive.stuck = 0

    running(test)


def test_files_are_complete_at_the_end(tmp_path: Path) -> None:
    async def test(extender: ExtenderServer) -> None:
        async with connected(extender.scheduler_port.port) as wire:
            for _ in range(3):
                await wire.post("/filter", BODY)

    files = {name: str(tmp_path / name) for name in ("decision_log", "record")}
    running(test, log_requests=True, **files)
    for file in files.values():
        assert len(Path(file).read_bytes().splitlines()) == 3
        assert Path(file).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tls_cert_file": "/no/crt", "tls_private_key_file": "/no/key"}, "/no/crt"),
        ({"record": "/no/such/folder/x"}, "/no/such/folder/x: No such file or directory"),
        ({"kubeconfig": "/no/kubeconfig"}, "/no/kubeconfig"),
        ({"leader_elect": True}, "--leader-elect: the lease is kept in a cluster; name one by --kubeconfig"),
        ({"bind_verb": "filter"}, "/filter: the verbs filter and bind have the same path"),
    ],
)
def test_what_keeps_it_from_starting(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ExtenderServer(from_options(**{"port": 0, **options}), [TIDY])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_port_that_is_taken() -> None:
    with listen(ANY_PORT) as taken, pytest.raises(ConfigError, match=r"^--port: .* address already in use"):
        ExtenderServer(from_options(port=taken.getsockname()[1]), [TIDY])


def test_optional_plugins_have_args_as_in_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are decoded, have defaults, and are validated. The API server is not called at the start."""
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": ""}}
    kubeconfig.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "x"}))

    def policy(args: object) -> str:
        options = from_options(port=0, kubeconfig=str(kubeconfig))
        (plugin,) = ExtenderServer(options, [GroupMember(FractionalGPU, args=args)]).handlers._state.plugins.plugins
        assert isinstance(plugin, FractionalGPU)
        return plugin.args.policy

    with listen(ANY_PORT) as listener:
        monkeypatch.setattr("stowplan.extender.server.extender._listen", lambda *_: listener)
        assert policy(None) == "BestFit"
        assert policy({"policy": "Packing"}) == "Packing"
        with pytest.raises(ConfigError, match="must be one of BestFit"):
            policy({"policy": "Tetris"})
