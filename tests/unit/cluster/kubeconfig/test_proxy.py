import pytest

from stowplan.cluster.kubeconfig.proxy import proxy_for


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ({"https_proxy": "http://p:3128"}, "http://p:3128"),
        ({"HTTPS_PROXY": "http://upper", "https_proxy": "http://lower"}, "http://upper"),
        ({"HTTPS_PROXY": "p:3128"}, "http://p:3128"),
        ({"HTTP_PROXY": "http://p:3128"}, None),
        ({"HTTPS_PROXY": ""}, None),
    ],
)
def test_the_proxy_of_the_scheme(env: dict[str, str], expected: str | None) -> None:
    assert proxy_for("https", "api.example.com", 6443, env) == expected


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("localhost", "", True),
        ("127.0.0.1", "", True),
        ("::1", "", True),
        ("api.example.com", "", False),
        ("api.example.com", "*", True),
        ("api.example.com", "other, api.example.com", True),
        ("api.example.com", "API.example.com", True),
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("example.com", ".example.com", False),
        ("api.example.com", "*.example.com", True),
        ("notexample.com", "example.com", False),
        ("api.example.com", "api.example.com:6443", True),
        ("api.example.com", "api.example.com:443", False),
        ("10.96.0.1", "10.0.0.0/8", True),
        ("10.96.0.1", "10.96.0.1", True),
        ("10.96.0.1", "10.96.0.2,192.168.0.0/16", False),
        ("10.96.0.1", "junk/8", False),
        ("fd00::1", "fd00::/8", True),
        ("api.example.com", "10.0.0.0/8", False),
    ],
)
def test_hosts_that_are_reached_directly(host: str, no_proxy: str, direct: bool) -> None:
    env = {"HTTPS_PROXY": "http://p", "NO_PROXY": no_proxy}
    assert (proxy_for("https", host, 6443, env) is None) == direct
