import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cluster.certificates import authority_pem, client_pair
from tests.unit.cluster.kubeconfig.written import config, write

from stowplan.cluster.kubeconfig import load, load_connection
from stowplan.errors import ConfigError


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _exec(**changes: Any) -> dict[str, Any]:
    call = {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token", "interactiveMode": "Never"}
    return {"exec": call | changes}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_a_context_without_a_user(file: Path) -> None:
    written = config()
    del written["contexts"][0]["context"]["user"]
    assert load_connection(write(file, written)).renew().headers == {}


# Which file
def test_the_file_given(file: Path) -> None:
    connection = load_connection(write(file, config()), env={"KUBECONFIG": "/nowhere"})
    assert (connection.url, connection.namespace) == ("https://api.example.com:6443", "web")
    assert connection.renew().headers == {"Authorization": "Bearer abc"}


def test_the_files_of_the_environment_missing_ones_skipped(tmp_path: Path, file: Path) -> None:
    first = write(tmp_path / "first", {"users": [{"name": "me", "user": {"token": "first"}}]})
    env = {"KUBECONFIG": f"{tmp_path}/none:{first}:{write(file, config())}"}
    assert load_connection(env=env).renew().headers == {"Authorization": "Bearer first"}


def test_the_file_at_home(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config())
    assert load_connection(env={"HOME": str(tmp_path)}).host == "api.example.com"


def test_the_volume_of_a_pod_before_the_file_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config())
    sentinel = load_connection(env={"HOME": str(tmp_path)})
    monkeypatch.setattr(load, "in_cluster", lambda env: sentinel)
    env = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert load_connection(env=env) is sentinel


def test_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^no kubeconfig: .* and not in a pod$"):
        load_connection(env={"HOME": str(tmp_path)})


def test_a_file_given_must_exist(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_connection(str(file), env={})
    assert str(caught.value) == f"kubeconfig {file}: No such file or directory"


# Which server
def test_a_master_in_place_of_the_server(file: Path) -> None:
    connection = load_connection(write(file, config()), master="https://10.0.0.9:1", env={})
    assert connection.url == "https://10.0.0.9:1"
    assert connection.renew().headers == {"Authorization": "Bearer abc"}


def test_a_master_alone(tmp_path: Path) -> None:
    connection = load_connection(master="localhost:8080", env={"HOME": str(tmp_path)})
    assert (connection.url, connection.renew().headers) == ("http://localhost:8080", {})


def test_another_context(file: Path) -> None:
    content = config()
    content["contexts"].append({"name": "other", "context": {"cluster": "home", "user": "you"}})
    content["users"].append({"name": "you", "user": {"username": "a", "password": "b"}})
    connection = load_connection(write(file, content), context="other", env={})
    assert connection.renew().headers == {"Authorization": "Basic YTpi"}
    assert connection.namespace == ""


# TLS and proxies
def test_authorities_in_the_file_win_over_those_beside_it(tmp_path: Path, file: Path) -> None:
    pem = authority_pem()
    cluster = {"certificate-authority-data": _b64(pem), "certificate-authority": "none.crt", "tls-server-name": "api"}
    connection = load_connection(write(file, config(cluster=cluster)), env={})
    login = connection.renew()
    assert login.tls is not None
    assert len(login.tls.get_ca_certs()) == 1
    assert connection.server_name == "api"
    (tmp_path / "ca.crt").write_bytes(pem)
    beside = load_connection(write(file, config(cluster={"certificate-authority": "ca.crt"})), env={})
    assert beside.trust.read() == pem


def test_base64_may_be_folded(file: Path) -> None:
    text = base64.encodebytes(authority_pem()).decode()
    connection = load_connection(write(file, config(cluster={"certificate-authority-data": text})), env={})
    assert connection.trust.read() == authority_pem()


def test_anybody_may_be_trusted(file: Path) -> None:
    connection = load_connection(write(file, config(cluster={"insecure-skip-tls-verify": True})), env={})
    assert connection.trust.insecure


def test_the_proxy_of_the_file_wins_over_that_of_the_environment(file: Path) -> None:
    env = {"HTTPS_PROXY": "http://env:1"}
    assert (
        load_connection(write(file, config(cluster={"proxy-url": "http://file:1"})), env=env).proxy == "http://file:1"
    )
    assert load_connection(write(file, config()), env=env).proxy == "http://env:1"


# Who we are
@pytest.mark.parametrize("in_place", [True, False])
def test_a_client_certificate(tmp_path: Path, file: Path, in_place: bool) -> None:
    chain, key = client_pair()
    (tmp_path / "me.crt").write_bytes(chain)
    (tmp_path / "me.key").write_bytes(key)
    user = {"client-certificate": "me.crt", "client-key": "me.key"}
    if in_place:
        user = {"client-certificate-data": _b64(chain), "client-key-data": _b64(key)}
    connection = load_connection(write(file, config(user=user)), env={})
    login = connection.renew()
    assert login.headers == {}
    assert connection.invalidate(login) is not in_place


def test_a_token_file_wins_over_a_token_while_it_can_be_read(tmp_path: Path, file: Path) -> None:
    path = write(file, config(user={"token": "abc", "tokenFile": "token"}))
    assert load_connection(path, env={}).renew().headers == {"Authorization": "Bearer abc"}
    (tmp_path / "token").write_text("def\n")
    assert load_connection(path, env={}).renew().headers == {"Authorization": "Bearer def"}


def test_an_exec_plugin_is_run_when_needed(tmp_path: Path, file: Path) -> None:
    plugin = tmp_path / "bin" / "plugin"
    plugin.parent.mkdir()
    plugin.write_text(
        f"#!{sys.executable}\nimport json, os\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "print(json.dumps({**info, 'spec': {}, 'status': {'token': info['spec']['cluster']['config']['audience']}}))\n"
    )
    plugin.chmod(0o700)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}
    user = _exec(command="bin/plugin", provideClusterInfo=True)
    connection = load_connection(write(file, config(user=user, cluster={"extensions": [extension]})), env={})
    assert connection.current() is None
    assert connection.renew().headers == {"Authorization": "Bearer me"}


def test_what_a_plugin_is_told_about_the_cluster(file: Path) -> None:
    pem = authority_pem()
    user = _exec(provideClusterInfo=True, env=[{"name": "A", "value": "b"}], args=["x"])
    cluster = {"certificate-authority-data": _b64(pem), "tls-server-name": "api"}
    connection = load_connection(write(file, config(user=user, cluster=cluster)), env={})
    call = connection._credentials._call  # type: ignore[attr-defined]
    assert call.cluster == {
        "server": "https://api.example.com:6443",
        "tls-server-name": "api",
        "certificate-authority-data": _b64(pem),
    }
    assert (call.command, call.args, call.env, call.interactive_mode) == ("get-token", ("x",), {"A": "b"}, "Never")
    assert json.dumps(call.cluster)


def test_a_beta_plugin_may_leave_the_interaction_open(file: Path) -> None:
    user = _exec(apiVersion="client.authentication.k8s.io/v1beta1", interactiveMode=None)
    connection = load_connection(write(file, config(user=user)), env={})
    assert connection._credentials._call.interactive_mode == "IfAvailable"  # type: ignore[attr-defined]


def test_a_plugin_is_not_run_where_there_is_a_token(file: Path) -> None:
    connection = load_connection(write(file, config(user={"token": "abc", **_exec(command="/nowhere")})), env={})
    assert connection.renew().headers == {"Authorization": "Bearer abc"}


# What cannot be used
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (config(**{"current-context": ""}), "$.current-context: no context is chosen"),
        (config(**{"current-context": "x"}), '$.current-context: there is no context "x"'),
        (config(users=[]), '$.contexts[0].context.user: there is no user "me"'),
        (
            config(contexts=[{"name": "main", "context": {"user": "me"}}]),
            '$.contexts[0].context.cluster: there is no cluster ""',
        ),
        (config(cluster={"server": ""}), "$.clusters[0].cluster.server: the server is missing"),
        (config(cluster={"server": "ftp://x"}), '$.clusters[0].cluster.server: "ftp://x" is no URL of a server'),
        (
            config(cluster={"server": "https://x:port"}),
            '$.clusters[0].cluster.server: "https://x:port" is no URL of a server',
        ),
        (
            config(cluster={"proxy-url": "socks5://u:secret@x"}),
            "$.clusters[0].cluster.proxy-url: must be an http or https URL; no other kind of proxy is supported",
        ),
        (
            config(cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}),
            "$.clusters[0].cluster.insecure-skip-tls-verify: cannot be true where certificate authorities are given",
        ),
        (
            config(cluster={"certificate-authority-data": "secret!"}),
            "$.clusters[0].cluster.certificate-authority-data: illegal base64 data",
        ),
        (
            config(user={"token": "secret", "username": "x"}),
            "$.users[0].user.token: given together with a username; only one of them is allowed",
        ),
        (
            config(user={"client-certificate-data": _b64(client_pair()[0])}),
            "$.users[0].user.client-key: missing, though a client certificate is given",
        ),
        (
            config(user={"client-certificate-data": _b64(client_pair()[0]), "client-key-data": _b64(b"secret")}),
            "$.users[0].user.client-certificate-data: unusable certificate or key: not in pem format",
        ),
        (config(user={"as": "root", "token": "secret"}), "$.users[0].user.as: impersonation is not supported"),
        (
            config(user={"auth-provider": {"name": "gcp"}}),
            "$.users[0].user.auth-provider: not supported; use an exec plugin",
        ),
        (config(user=_exec(command="")), "$.users[0].user.exec.command: missing"),
        (
            config(user=_exec(apiVersion="client.authentication.k8s.io/v1alpha1")),
            '$.users[0].user.exec.apiVersion: "client.authentication.k8s.io/v1alpha1" is not one of '
            "client.authentication.k8s.io/v1, client.authentication.k8s.io/v1beta1",
        ),
        (
            config(user=_exec(interactiveMode="")),
            '$.users[0].user.exec.interactiveMode: "" is not one of Never, IfAvailable, Always',
        ),
        (config(user=_exec(env=[{"value": "secret"}])), "$.users[0].user.exec.env[0].name: missing"),
    ],
)
def test_one_line_names_the_file_and_the_place_in_it(file: Path, content: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_connection(write(file, content), env={})
    assert str(caught.value) == f"kubeconfig {file}: {problem}"
    assert "secret" not in str(caught.value.__cause__)


def test_a_file_that_the_kubeconfig_names_is_missing(tmp_path: Path, file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_connection(write(file, config(user={"tokenFile": "token"})), env={})
    place = f"kubeconfig {file}: $.users[0].user.tokenFile"
    assert str(caught.value) == f"{place}: No such file or directory: {tmp_path / 'token'}"


def test_a_context_that_is_not_there(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_connection(write(file, config()), context="x", env={})
    assert str(caught.value) == f'kubeconfig {file}: --context: there is no context "x"'


def test_a_master_that_is_no_address(file: Path) -> None:
    with pytest.raises(ConfigError, match=r'^--master: "ftp://x" is no URL of a server$'):
        load_connection(write(file, config()), master="ftp://x", env={})
