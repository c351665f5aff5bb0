"""A connection from a kubeconfig, by kubectl's rules for files and contexts.

Upstream: k8s.io/client-go/tools/clientcmd/client_config.go
"""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stowplan.cluster.connection import Connection, Credentials
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.kubeconfig.credentials import KeyPair, StoredCredentials
from stowplan.cluster.kubeconfig.exec_plugin import API_VERSIONS, GROUP, INTERACTIVE_MODES, ExecCommand, ExecCredentials
from stowplan.cluster.kubeconfig.files import Kubeconfig, NamedEntry, read_files
from stowplan.cluster.kubeconfig.in_cluster import in_cluster, is_in_cluster
from stowplan.cluster.kubeconfig.proxy import proxy_for
from stowplan.cluster.kubeconfig.types import ClusterEntry, ContextEntry, ExecConfig, UserEntry
from stowplan.cluster.tls import Trust
from stowplan.errors import ConfigError


def load_connection(
    kubeconfig: str = "",
    master: str = "",
    context: str = "",
    env: Mapping[str, str] = os.environ,
    trust: Trust | None = None,
) -> Connection:
    """The connection of a file, of the environment or of the pod. Raises ConfigError.

    The first that exists is used: the given file, the files in $KUBECONFIG, the service account volume, ~/.kube/config.
    `master` overrides the server's URL, `context` the current context, `trust` the authorities of the server.
    """
    files = _files(kubeconfig, env)
    if not files and is_in_cluster(env) and not master:
        return in_cluster(env)
    files = files or _usual_file(env)
    if files:
        return _connect(read_files(files), master, context, env, trust)
    if master:
        return _checked(Connection(_server(master, "--master"), StoredCredentials(), trust=trust))
    raise ConfigError("no kubeconfig: none given, none in $KUBECONFIG, no ~/.kube/config, and not in a pod")


def context_names(kubeconfig: str = "", env: Mapping[str, str] = os.environ) -> list[str]:
    """The contexts in the files that would be read. Raises ConfigError."""
    return list(read_files(_files(kubeconfig, env) or _usual_file(env)).contexts)


def _usual_file(env: Mapping[str, str]) -> list[Path]:
    return _existing([Path(env.get("HOME", "~"), ".kube", "config")])


def _files(kubeconfig: str, env: Mapping[str, str]) -> list[Path]:
    """The given file, which must exist, or the existing files of the environment."""
    if kubeconfig:
        return [Path(kubeconfig)]
    return _existing([Path(name) for name in env.get("KUBECONFIG", "").split(os.pathsep) if name])


def _existing(files: list[Path]) -> list[Path]:
    return [file for file in files if file.exists()]


def _connect(config: Kubeconfig, master: str, context: str, env: Mapping[str, str], trust: Trust | None) -> Connection:
    chosen = _context(config, context)
    cluster = config.clusters.get(chosen.value.cluster)
    if cluster is None:
        raise chosen.problem("cluster", f'there is no cluster "{chosen.value.cluster}"')
    # A context may have no user; a named one must exist.
    user = (
        config.users.get(chosen.value.user) if chosen.value.user else NamedEntry(UserEntry(), chosen.file, chosen.path)
    )
    if user is None:
        raise chosen.problem("user", f'there is no user "{chosen.value.user}"')
    server = _server(master, "--master") if master else _server(cluster.value.server, cluster.where("server"))
    parts = urlsplit(server)
    scheme, host = parts.scheme, parts.hostname or ""
    connection = Connection(
        server,
        _credentials(user, cluster, server, env),
        trust=trust or _trust(cluster),
        server_name=None if trust is not None else cluster.value.tls_server_name or None,
        proxy=_proxy(cluster) or proxy_for(scheme, host, parts.port or 443, env),
        namespace=chosen.value.namespace,
    )
    return connection if user.value.exec else _checked(connection)


def _checked(connection: Connection) -> Connection:
    """Obtain the credentials once, to find an unusable certificate at the start."""
    try:
        connection.renew()
    except CredentialsError as error:
        raise ConfigError(str(error)) from error
    return connection


def _context(config: Kubeconfig, name: str) -> NamedEntry[ContextEntry]:
    wanted, field = (name, "--context") if name else (config.current_context, "$.current-context")
    if not wanted:
        raise ConfigError(f"{config.source}: $.current-context: no context is chosen")
    if wanted not in config.contexts:
        raise ConfigError(f'{config.source}: {field}: there is no context "{wanted}"')
    return config.contexts[wanted]


def _server(server: str, where: str) -> str:
    if not server:
        raise ConfigError(f"{where}: the server is missing")
    url = server if "://" in server else f"http://{server}"
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or parts.query or parts.fragment:
        raise ConfigError(f'{where}: "{server}" is no URL of a server')
    return url


def _proxy(cluster: NamedEntry[ClusterEntry]) -> str | None:
    """Error messages leave the URL out: it may contain a password."""
    url = cluster.value.proxy_url
    if not url:
        return None
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname
    if scheme not in ("http", "https") or not host:
        raise cluster.problem("proxy-url", "must be an http or https URL; no other kind of proxy is supported")
    return url


def _trust(cluster: NamedEntry[ClusterEntry]) -> Trust:
    entry = cluster.value
    authorities = _material(
        cluster, "certificate-authority", entry.certificate_authority_data, entry.certificate_authority
    )
    if authorities is not None and entry.insecure_skip_tls_verify:
        raise cluster.problem("insecure-skip-tls-verify", "cannot be true where certificate authorities are given")
    return Trust(authorities, entry.insecure_skip_tls_verify)


def _credentials(
    user: NamedEntry[UserEntry], cluster: NamedEntry[ClusterEntry], server: str, env: Mapping[str, str]
) -> Credentials:
    entry = user.value
    _refuse_unsupported(user)
    token = _token(user)
    basic = (entry.username, entry.password) if entry.username or entry.password else None
    if token is not None and basic is not None:
        raise user.problem("token", "given together with a username; only one of them is allowed")
    key_pair = _key_pair(user)
    if entry.exec is not None and token is None and basic is None and key_pair is None:
        return ExecCredentials(_exec_command(user, entry.exec, cluster, server), env=env)
    return StoredCredentials(token=token, basic=basic, key_pair=key_pair)


def _refuse_unsupported(user: NamedEntry[UserEntry]) -> None:
    # Ignoring these would authenticate as another user.
    if user.value.impersonate:
        raise user.problem("as", "impersonation is not supported")
    if user.value.auth_provider is not None:
        raise user.problem("auth-provider", "not supported; use an exec plugin")


def _token(user: NamedEntry[UserEntry]) -> CredentialSource | None:
    """The token file wins over the inline token while it can be read."""
    token, file = user.value.token, user.value.token_file
    if not token and not file:
        return None
    path = user.local_path(file) if file else ""
    return CredentialSource(user.where("tokenFile" if file else "token"), data=token.encode(), path=path)


def _key_pair(user: NamedEntry[UserEntry]) -> KeyPair | None:
    entry = user.value
    chain = _material(user, "client-certificate", entry.client_certificate_data, entry.client_certificate)
    key = _material(user, "client-key", entry.client_key_data, entry.client_key)
    if chain is None:
        return None
    if key is None:
        raise user.problem("client-key", "missing, though a client certificate is given")
    return KeyPair(chain, key)


def _material(entry: NamedEntry[Any], field: str, data: str, path: str) -> CredentialSource | None:
    """Inline data wins over the file."""
    if data:
        where = entry.where(f"{field}-data")
        try:
            return CredentialSource(where, data=base64.b64decode("".join(data.split()), validate=True))
        except ValueError as error:
            raise ConfigError(f"{where}: illegal base64 data") from error
    return CredentialSource(entry.where(field), path=entry.local_path(path)) if path else None


def _exec_command(
    user: NamedEntry[UserEntry], config: ExecConfig, cluster: NamedEntry[ClusterEntry], server: str
) -> ExecCommand:
    if not config.command:
        raise user.problem("exec.command", "missing")
    if config.api_version not in API_VERSIONS:
        raise user.problem("exec.apiVersion", f'"{config.api_version}" is not one of {", ".join(API_VERSIONS)}')
    mode = config.interactive_mode or ("IfAvailable" if config.api_version.endswith("beta1") else "")
    if mode not in INTERACTIVE_MODES:
        raise user.problem("exec.interactiveMode", f'"{mode}" is not one of {", ".join(INTERACTIVE_MODES)}')
    for index, variable in enumerate(config.env):
        if not variable.name:
            raise user.problem(f"exec.env[{index}].name", "missing")
    return ExecCommand(
        where=user.where("exec"),
        command=user.local_path(config.command) if os.sep in config.command else config.command,
        args=config.args,
        env={variable.name: variable.value for variable in config.env},
        api_version=config.api_version,
        interactive_mode=mode,
        install_hint=config.install_hint,
        cluster=_cluster_info(cluster, server) if config.provide_cluster_info else None,
    )


def _cluster_info(cluster: NamedEntry[ClusterEntry], server: str) -> dict[str, Any]:
    entry = cluster.value
    authorities = _trust(cluster).read()
    extension = {item.name: item.extension for item in entry.extensions}.get(f"{GROUP}/exec")
    info = {
        "server": server,
        "tls-server-name": entry.tls_server_name,
        "insecure-skip-tls-verify": entry.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authorities).decode(),
        "proxy-url": entry.proxy_url,
        "disable-compression": entry.disable_compression,
        "config": extension,
    }
    return {name: value for name, value in info.items() if value}
