import socket
from contextlib import closing

import pytest

from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError
from stowplan.serving.listening import listen


def test_any_free_port() -> None:
    with closing(listen(ServingOptions(address="127.0.0.1", port=0))) as listener:
        address, port = listener.getsockname()[:2]
        assert address == "127.0.0.1"
        assert port > 0


def test_unspecified_means_all_interfaces() -> None:
    with closing(listen(ServingOptions(port=0))) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            assert connection.getpeername()[1] == port


def test_a_port_in_use() -> None:
    with closing(listen(ServingOptions(address="127.0.0.1", port=0))) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            listen(ServingOptions(address="127.0.0.1", port=port))
    assert str(caught.value) == (
        f"failed to create listener: failed to listen on 127.0.0.1:{port}: address already in use"
    )


@pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT"), reason="needs SO_REUSEPORT")
def test_a_port_can_be_shared() -> None:
    with closing(listen(ServingOptions(address="127.0.0.1", port=0, share_port=True))) as listener:
        port = listener.getsockname()[1]
        with closing(listen(ServingOptions(address="127.0.0.1", port=port, share_port=True))) as other:
            assert other.getsockname() == listener.getsockname()


def test_an_address_of_another_machine() -> None:
    with pytest.raises(ConfigError, match=r"failed to listen on 192\.0\.2\.1:0: "):
        listen(ServingOptions(address="192.0.2.1", port=0))
