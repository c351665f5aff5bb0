import pytest

from stowplan.extender.client.proxies import proxy_for

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("url", "env", "through"),
    [
        ("http://ext:80/x", {}, None),
        ("http://ext/x", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://ext/x", {"http_proxy": PROXY}, PROXY),
        ("http://ext/x", {"HTTP_PROXY": "proxy:3128"}, PROXY),
        ("http://ext/x", {"HTTPS_PROXY": PROXY}, None),
        ("https://ext/x", {"HTTPS_PROXY": PROXY}, PROXY),
        ("http://localhost/x", {"HTTP_PROXY": PROXY}, None),
        ("http://127.0.0.1:8888/x", {"HTTP_PROXY": PROXY}, None),
        ("http://[::1]:8888/x", {"HTTP_PROXY": PROXY}, None),
        ("http://ext/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ("http://ext/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "a, ext"}, None),
        ("http://next/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "ext"}, PROXY),
        ("http://ext.kube-system.svc/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "svc"}, None),
        ("http://ext.kube-system.svc/x", {"HTTP_PROXY": PROXY, "NO_PROXY": ".svc"}, None),
        ("http://svc/x", {"HTTP_PROXY": PROXY, "NO_PROXY": ".svc"}, PROXY),
        ("http://10.1.2.3/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, None),
        ("http://11.1.2.3/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, PROXY),
        ("http://ext/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8,bad/net"}, PROXY),
        ("http://ext:81/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "ext:80"}, PROXY),
        ("http://ext/x", {"HTTP_PROXY": PROXY, "NO_PROXY": "ext:80"}, None),
    ],
)
def test_which_way(url: str, env: dict[str, str], through: str | None) -> None:
    assert proxy_for(url, env) == through
