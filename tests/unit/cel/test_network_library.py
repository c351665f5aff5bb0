import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("ip('10.0.0.1').family() == 4 && ip('::1').family() == 6 && string(ip('::1')) == '::1'", True),
        ("ip(GPU.address).isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast()", True),
        (
            "ip('0.0.0.0').isUnspecified() && ip('127.0.0.1').isLoopback() && ip('169.254.1.1').isLinkLocalUnicast()",
            True,
        ),
        ("ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", True),
        ("ip('10.0.0.1') == ip('10.0.0.1') && isIP('::1') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4')", True),
        ("ip.isCanonical('::1') && !ip.isCanonical('0:0::1')", True),
        ("ip('fe80::1%eth0').family() == 6", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("ip('::ffff:1.2.3.4').family() == 4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("cidr('10.0.0.0/8').containsIP(GPU.address) && cidr('10.0.0.0/8').containsIP(ip('10.9.9.9'))", True),
        (
            "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
            True,
        ),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8", True),
        ("cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && string(cidr('10.1.2.3/8')) == '10.1.2.3/8'", True),
        ("isCIDR('::/0') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33')", True),
        ("url('https://u@a.b:80/c%20d?e=f&e=g#h').getScheme() == 'https'", True),
        ("url('https://u@a.b:80/c').getHost() == 'a.b:80' && url('https://a.b:80/c').getHostname() == 'a.b'", True),
        ("url('https://[::1]:80/c').getHostname() == '::1' && url('https://[::1]:80/c').getPort() == '80'", True),
        ("url('https://a/c%20d').getEscapedPath() == '/c%20d' && url('/a b').getEscapedPath() == '/a%20b'", True),
        ("url('https://a/?e=f&e=g').getQuery() == {'e': ['f', 'g']}", True),
        ("isURL('https://a.b') && isURL('/a') && !isURL('a/b') && !isURL('../a')", True),
    ],
)
def test_addresses_networks_and_urls(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
