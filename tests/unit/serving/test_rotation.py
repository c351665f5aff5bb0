"""Client authorities that are replaced while a server runs."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
import uvloop

from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError
from stowplan.serving.certificates import ServerTLS

pytestmark = pytest.mark.usefixtures("klog")

LOOPS = pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
OLD, NEW = trustme.CA(), trustme.CA()


def client_of(authority: trustme.CA | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """Somebody with a certificate of that authority. Whom they talk to they do not care."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    if authority is not None:
        authority.issue_cert("client.invalid", common_name="somebody").configure_cert(context)
    return context


def connect(port: int, client: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=60)
    try:
        return client.wrap_socket(plain, session=session)
    except OSError:
        plain.close()
        raise


def ask(connection: ssl.SSLSocket) -> str:
    """Whom the server takes us for; "refused" if it does not talk to us."""
    try:
        connection.sendall(b"?")
        return connection.recv(100).decode() or "refused"
    except OSError:
        return "refused"


def visit(port: int, client: ssl.SSLContext, session: ssl.SSLSession | None = None) -> str:
    try:
        with connect(port, client, session) as connection:
            return ask(connection)
    except OSError:
        return "refused"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1):
        writer.write(b"believed" if writer.get_extra_info("peercert") else b"nobody")
    writer.close()


def serving(tls: ServerTLS, make_loop: Callable[[], asyncio.AbstractEventLoop], visits: Callable[[int], None]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls.context)
        try:
            await asyncio.to_thread(visits, server.sockets[0].getsockname()[1])
        finally:
            server.close()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.get_loop().set_exception_handler(lambda loop, context: None)  # Those who are refused.
        runner.run(run())


def tls_of(authority: trustme.CA, file: Path) -> ServerTLS:
    authority.cert_pem.write_to_path(file)
    return ServerTLS(ServingOptions(), str(file))


@LOOPS
@VERSIONS
def test_who_is_believed_follows_the_file(
    tmp_path: Path, make_loop: Callable[[], asyncio.AbstractEventLoop], version: ssl.TLSVersion
) -> None:
    file = tmp_path / "ca.crt"
    tls = tls_of(OLD, file)

    def visits(port: int) -> None:
        clients = [client_of(authority, version) for authority in (OLD, NEW, None)]
        assert [visit(port, client) for client in clients] == ["believed", "refused", "nobody"]
        with connect(port, clients[0]) as early:
            NEW.cert_pem.write_to_path(file)
            tls.reload()
            assert [visit(port, client) for client in clients] == ["refused", "believed", "nobody"]
            assert ask(early) == "believed"
        file.write_bytes(OLD.cert_pem.bytes() + NEW.cert_pem.bytes())
        tls.reload()
        assert [visit(port, client) for client in clients] == ["believed", "believed", "nobody"]

    serving(tls, make_loop, visits)


@LOOPS
@VERSIONS
def test_a_session_does_not_outlive_its_authority(
    tmp_path: Path, make_loop: Callable[[], asyncio.AbstractEventLoop], version: ssl.TLSVersion
) -> None:
    file = tmp_path / "ca.crt"
    tls = tls_of(OLD, file)

    def visits(port: int) -> None:
        client = client_of(OLD, version)
        with connect(port, client) as connection:
            assert ask(connection) == "believed"
            session = connection.session
        with connect(port, client, session) as connection:
            assert ask(connection) == "believed"
            assert connection.session_reused
        NEW.cert_pem.write_to_path(file)
        tls.reload()
        assert visit(port, client, session) == "refused"

    serving(tls, make_loop, visits)


@LOOPS
def test_authorities_that_are_told_later(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    tls = ServerTLS(ServingOptions())

    def visits(port: int) -> None:
        clients = [client_of(authority) for authority in (OLD, NEW)]
        assert [visit(port, client) for client in clients] == ["nobody", "nobody"]
        tls.trust_clients(OLD.cert_pem.bytes().decode())
        assert [visit(port, client) for client in clients] == ["believed", "refused"]
        tls.trust_clients(NEW.cert_pem.bytes().decode())
        assert [visit(port, client) for client in clients] == ["refused", "believed"]

    serving(tls, make_loop, visits)


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_a_file_that_has_gone_bad_changes_nothing(
    tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ca.crt"
    tls = tls_of(OLD, file)
    before = tls.context.current
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    tls.reload()
    assert tls.context.current is before
    assert "Failed to reload certificates" in capsys.readouterr().err


def test_what_has_not_changed_is_not_loaded_again(tmp_path: Path) -> None:
    tls = tls_of(OLD, tmp_path / "ca.crt")
    before = tls.context.current
    tls.reload()
    tls.trust_clients(OLD.cert_pem.bytes().decode())
    assert tls.context.current is before


def test_a_bad_certificate_does_not_keep_old_authorities_in_use(tmp_path: Path) -> None:
    own, ca = tmp_path / "tls.pem", tmp_path / "ca.crt"
    OLD.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(own)
    OLD.cert_pem.write_to_path(ca)
    tls = ServerTLS(ServingOptions(certificate_file=str(own), key_file=str(own)), str(ca))
    own.write_text("no certificate")
    NEW.cert_pem.write_to_path(ca)
    tls.reload()

    def visits(port: int) -> None:
        assert [visit(port, client_of(authority)) for authority in (OLD, NEW)] == ["refused", "believed"]

    serving(tls, asyncio.new_event_loop, visits)


def test_authorities_from_elsewhere_that_are_no_good() -> None:
    tls = ServerTLS(ServingOptions())
    with pytest.raises(ConfigError, match="client authorities: "):
        tls.trust_clients("no certificate")
    assert tls.context.current.verify_mode == ssl.CERT_NONE
