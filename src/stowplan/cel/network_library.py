"""IP addresses, CIDRs and URLs.

Upstream: k8s.io/apiserver/pkg/cel/library/ip.go, k8s.io/apiserver/pkg/cel/library/cidr.go,
k8s.io/apiserver/pkg/cel/library/urls.go
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from stowplan.cel.cost import TEXT_ITEM_WORK, CostTracker, by_first, by_first_twice, constant, per_character
from stowplan.cel.library import Library
from stowplan.cel.values import CelError, register

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_ADDRESS_WORK, _URL_WORK = per_character(2), per_character(8)
_UNESCAPE_WORK = 25
"""Work of an escaped character."""


@dataclass(frozen=True, slots=True)
class IP:
    address: Address

    @property
    def cost_size(self) -> int:
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class CIDR:
    network: Network

    @property
    def cost_size(self) -> int:
        return math.ceil(self.network.network.prefixlen / 8)


@dataclass(frozen=True, slots=True)
class URL:
    parts: SplitResult
    text: str


register(IP, "net.IP")
register(CIDR, "net.CIDR")
register(URL, "kubernetes.URL")


@overload("ip(string) -> ip", cost=by_first, work=_ADDRESS_WORK)
def _ip(text: str) -> IP:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        reason = f'ParseAddr("{text}"): unable to parse IP'
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {reason}') from None
    if "%" in text:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IP(address)


@overload("cidr(string) -> cidr", cost=by_first, work=_ADDRESS_WORK)
def _cidr(text: str) -> CIDR:
    failed = "network address parse error during conversion from string"
    _, slash, bits = text.partition("/")
    try:
        if not slash or not re.fullmatch(r"0|[1-9][0-9]*", bits) or "%" in text:
            raise ValueError
        network = ipaddress.ip_interface(text)
    except ValueError:
        raise CelError(f'{failed}: {failed}: netip.ParsePrefix("{text}"): bad CIDR') from None
    if isinstance(network, ipaddress.IPv6Interface) and network.ip.ipv4_mapped is not None:
        raise CelError(f'{failed}: IPv4-mapped IPv6 address "{text}" is not allowed')
    return CIDR(network)


def _parses(parse: Any) -> Any:
    def test(text: str) -> bool:
        try:
            parse(text)
        except CelError:
            return False
        return True

    return test


def _tenth(length: int) -> int:
    return math.ceil(length * 0.1)


def _contains_cost(args: Sequence[Any]) -> int:
    bound = args[0].cost_size
    return _tenth(2 * bound) + (by_first(args[1:]) if isinstance(args[1], str) else 0)


def _contains_network_cost(args: Sequence[Any]) -> int:
    return _contains_cost(args) + _tenth(args[0].cost_size) + 1


def _contains_ip(cidr: CIDR, address: IP | str) -> bool:
    found = _ip(address) if isinstance(address, str) else address
    return found.address in cidr.network.network


def _contains_cidr(cidr: CIDR, other: CIDR | str) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).network.network
    outer = cidr.network.network
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.overlaps(outer)


def _masked(cidr: CIDR) -> CIDR:
    return CIDR(ipaddress.ip_interface(str(cidr.network.network)))


def _is_global(ip: IP) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != ipaddress.IPv4Address("255.255.255.255")


def _is_link_local_multicast(ip: IP) -> bool:
    text = "224.0.0.0/24" if ip.address.version == 4 else "ff02::/16"
    wide = ip.address.version == 6 and ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02
    return wide or ip.address in ipaddress.ip_network(text)


declare("isIP(string) -> bool", _parses(_ip), by_first, work=_ADDRESS_WORK)
declare("isCIDR(string) -> bool", _parses(_cidr), by_first, work=_ADDRESS_WORK)
declare(
    "ip.isCanonical(string) -> bool", lambda text: str(_ip(text).address) == text, by_first_twice, work=_ADDRESS_WORK
)
declare("string(ip) -> string", lambda ip: str(ip.address))
declare("string(cidr) -> string", lambda cidr: str(cidr.network))
declare("ip::family() -> int", lambda ip: ip.address.version)
declare("ip::isUnspecified() -> bool", lambda ip: ip.address.is_unspecified)
declare("ip::isLoopback() -> bool", lambda ip: ip.address.is_loopback)
declare("ip::isLinkLocalMulticast() -> bool", _is_link_local_multicast)
declare("ip::isLinkLocalUnicast() -> bool", lambda ip: ip.address.is_link_local)
declare("ip::isGlobalUnicast() -> bool", _is_global)
declare("cidr::containsIP(string) -> bool", _contains_ip, _contains_cost)
declare("cidr::containsIP(ip) -> bool", _contains_ip, _contains_cost)
declare("cidr::containsCIDR(string) -> bool", _contains_cidr, _contains_network_cost)
declare("cidr::containsCIDR(cidr) -> bool", _contains_cidr, _contains_network_cost)
declare("cidr::ip() -> ip", lambda cidr: IP(cidr.network.ip))
declare("cidr::prefixLength() -> int", lambda cidr: cidr.network.network.prefixlen)
declare("cidr::masked() -> cidr", _masked)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@overload("url(string) -> url", cost=by_first, work=_URL_WORK)
def _url(text: str) -> URL:
    try:
        if not text or not (text.startswith("/") or _SCHEME.match(text)):
            raise ValueError("invalid URI for request")
        if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
            raise ValueError("net/url: invalid control character in URL")
        parts = urlsplit(text)
        if parts.scheme and not parts.netloc and not parts.path.startswith("/"):
            raise ValueError("invalid URI for request")
        if bad := _BAD_ESCAPE.search(parts.path):
            raise ValueError(f'invalid URL escape "{parts.path[bad.start() : bad.start() + 3]}"')
        _ = parts.port
    except ValueError as error:
        raise CelError(f'URL parse error during conversion from string: parse "{text}": {error}') from None
    return URL(parts, text)


def _host(url: URL) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: URL) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: URL) -> str:
    host = _host(url)
    rest = host.partition("]")[2] if host.startswith("[") else host
    return rest.partition(":")[2]


@overload("url::getQuery() -> map(string, list(string))", metered=True)
def _query(tracker: CostTracker, url: URL) -> dict[str, list[str]]:
    query = url.parts.query
    tracker.work(_UNESCAPE_WORK * len(query) + 4 * TEXT_ITEM_WORK * (query.count("&") + 1))
    out: dict[str, list[str]] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        out.setdefault(key, []).append(value)
    return out


def _escaped_path(url: URL) -> str:
    path = url.parts.path
    return path if unquote(path) != path else quote(path, safe="/:@!$&'()*+,;=-._~[]")


is_url = _parses(_url)

declare("isURL(string) -> bool", is_url, constant, work=_URL_WORK)
declare("url::getScheme() -> string", lambda url: url.parts.scheme)
declare("url::getHost() -> string", _host)
declare("url::getHostname() -> string", _hostname)
declare("url::getPort() -> string", _port)
declare("url::getEscapedPath() -> string", _escaped_path, work=lambda args: _UNESCAPE_WORK * len(args[0].parts.path))
