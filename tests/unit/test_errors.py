import errno
import socket
import ssl

import pytest

from stowplan.errors import os_error_text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), "No such file or directory"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (ssl.SSLError(1, "certificate required"), "certificate required"),
        (OSError("no errno"), "no errno"),
    ],
)
def test_the_words_of_the_system(error: OSError, text: str) -> None:
    assert os_error_text(error) == text
