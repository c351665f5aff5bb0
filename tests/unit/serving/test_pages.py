import socket
import threading
import urllib.error
import urllib.request

import pytest

from stowplan.serving import InsecureServer, Page, PageRequest, Pages


class OwnPages(Pages):
    """Pages of some process."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: dict[str, str] = {}
        self.add("/version", self.shown)
        self.add("/slow", self.slow, blocking=True)
        self.add("/items/", self.shown)

    def shown(self, request: PageRequest) -> Page:
        self.threads[request.path] = threading.current_thread().name
        return Page(200, f"{request.path} {request.query.get('q')}".encode())

    def slow(self, request: PageRequest) -> Page:
        return self.shown(request)

    def not_found(self, request: PageRequest) -> Page:
        return Page(404, f"pages: {' '.join(self.paths)}".encode())


@pytest.mark.parametrize(
    ("path", "status", "content"),
    [
        ("/version", 200, "/version ['1']"),
        ("/items/a/b", 200, "/items/a/b ['1']"),
        ("/items", 404, "pages: /slow /version"),
        ("/", 404, "pages: /slow /version"),
    ],
)
def test_pages_by_path(path: str, status: int, content: str) -> None:
    page = OwnPages().answer(PageRequest("GET", path, {"q": ["1"]}))
    assert (page.status, page.content.decode()) == (status, content)


def test_a_restriction_to_some_paths() -> None:
    pages = OwnPages().only(["/version", "/other"])
    assert [pages.answer(PageRequest("GET", path)).status for path in ("/version", "/slow", "/items/a")] == [
        200,
        404,
        404,
    ]


def test_any_pages_are_served() -> None:
    pages = OwnPages()
    listener = socket.create_server(("127.0.0.1", 0))
    server = InsecureServer({listener: pages})
    server.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        for path in ("/version", "/slow"):
            with urllib.request.urlopen(f"{base}{path}?q=2") as reply:
                assert reply.read().decode() == f"{path} ['2']"
        with pytest.raises(urllib.error.HTTPError, match="404") as refusal:
            urllib.request.urlopen(f"{base}/none")
        with refusal.value as reply:
            assert reply.read() == b"pages: /slow /version"
    finally:
        server.stop()
    assert pages.threads["/version"] == "insecure"
    assert pages.threads["/slow"] != "insecure"
