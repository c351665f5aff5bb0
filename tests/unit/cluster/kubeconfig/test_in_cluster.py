from pathlib import Path

import pytest
from tests.unit.cluster.certificates import authority_pem

from stowplan.cluster.kubeconfig import in_cluster
from stowplan.errors import ConfigError

ENV = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "ca.crt").write_bytes(authority_pem())
    (tmp_path / "namespace").write_text("kube-system\n")
    return tmp_path


def test_a_pod_has_all_it_needs(account: Path) -> None:
    connection = in_cluster(ENV, str(account))
    login = connection.renew()
    assert connection.url == "https://10.96.0.1:443"
    assert connection.namespace == "kube-system"
    assert connection.proxy is None
    assert login.headers == {"Authorization": "Bearer abc"}
    assert login.tls is not None
    assert len(login.tls.get_ca_certs()) == 1


def test_the_token_is_read_again(account: Path) -> None:
    connection = in_cluster(ENV, str(account))
    (account / "token").write_text("def")
    login = connection.renew()
    assert connection.invalidate(login)
    assert connection.renew().headers == {"Authorization": "Bearer def"}


def test_an_ipv6_cluster(account: Path) -> None:
    connection = in_cluster({**ENV, "KUBERNETES_SERVICE_HOST": "fd00::1"}, str(account))
    assert (connection.url, connection.host) == ("https://[fd00::1]:443", "fd00::1")


def test_a_proxy_of_the_environment(account: Path) -> None:
    env = {**ENV, "HTTPS_PROXY": "http://proxy:3128"}
    assert in_cluster(env, str(account)).proxy == "http://proxy:3128"
    assert in_cluster({**env, "NO_PROXY": "10.0.0.0/8"}, str(account)).proxy is None


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_volume_with_something_missing(account: Path, missing: str) -> None:
    (account / missing).unlink()
    with pytest.raises(ConfigError) as caught:
        in_cluster(ENV, str(account))
    expected = f"in-cluster service account: No such file or directory: {account / missing}"
    assert str(caught.value) == expected
