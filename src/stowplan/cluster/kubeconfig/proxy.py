"""Proxy of the API server from the environment, by the rules of Go's HTTP client.

Upstream: golang.org/x/net/http/httpproxy
"""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network


def proxy_for(scheme: str, host: str, port: int, env: Mapping[str, str]) -> str | None:
    """The proxy for a server; None for a direct connection."""
    proxy = _setting(env, f"{scheme}_proxy")
    if not proxy or _is_local(host) or _is_exempt(host, port, _setting(env, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _setting(env: Mapping[str, str], name: str) -> str:
    return env.get(name.upper(), "") or env.get(name, "")


def _is_local(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_exempt(host: str, port: int, exempt: str) -> bool:
    return any(_matches(entry.strip().lower(), host.lower(), port) for entry in exempt.split(","))


def _matches(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if _is_address(host) and "/" in entry:
        return _contains(entry, host)
    name, _, only_port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if only_port and only_port != str(port):
        return False
    name = name.removeprefix("*")
    return host == name.removeprefix(".") if _is_address(host) else _in_domain(host, name)


def _in_domain(host: str, name: str) -> bool:
    """A name matches itself and its subdomains; with a leading dot only the subdomains."""
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _contains(network: str, address: str) -> bool:
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
