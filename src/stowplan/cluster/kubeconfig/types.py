"""Structs of a kubeconfig file: apiVersion v1, kind Config. Unused fields are left out.

Upstream: k8s.io/client-go/tools/clientcmd/api/v1/types.go
"""

from typing import Any

from msgspec import Struct, field


class Written(Struct, frozen=True, kw_only=True, rename="kebab"):
    """Base of the structs here."""


class ClusterEntry(Written, frozen=True, kw_only=True):
    """Address and authorities of a cluster."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple["NamedExtension", ...] = ()


class NamedExtension(Written, frozen=True, kw_only=True):
    """Extension data of another program."""

    name: str = ""
    extension: Any = None


class ExecEnvVar(Written, frozen=True, kw_only=True):
    """An environment variable of an exec plugin."""

    name: str = ""
    value: str = ""


class ExecConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """An exec plugin."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecEnvVar, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class UserEntry(Written, frozen=True, kw_only=True):
    """Credentials of a user."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    impersonate: str = field(name="as", default="")
    auth_provider: Any = None


class ContextEntry(Written, frozen=True, kw_only=True):
    """A cluster, a user and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(Written, frozen=True, kw_only=True):
    """A cluster and its name in the file."""

    name: str = ""
    cluster: ClusterEntry = ClusterEntry()


class NamedUser(Written, frozen=True, kw_only=True):
    """A user and its name in the file."""

    name: str = ""
    user: UserEntry = UserEntry()


class NamedContext(Written, frozen=True, kw_only=True):
    """A context and its name in the file."""

    name: str = ""
    context: ContextEntry = ContextEntry()


class KubeconfigFile(Written, frozen=True, kw_only=True):
    """One file."""

    current_context: str = ""
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
