"""In-cluster configuration: the service account volume of a pod.

Upstream: k8s.io/client-go/rest/config.go (InClusterConfig)
"""

from collections.abc import Mapping
from pathlib import Path

from stowplan.cluster.connection import Connection
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.kubeconfig.proxy import proxy_for
from stowplan.cluster.tls import Trust
from stowplan.errors import ConfigError

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def is_in_cluster(env: Mapping[str, str]) -> bool:
    return bool(env.get("KUBERNETES_SERVICE_HOST") and env.get("KUBERNETES_SERVICE_PORT"))


def in_cluster(env: Mapping[str, str], root: str = SERVICE_ACCOUNT) -> Connection:
    """The connection of the pod that runs this process. Raises ConfigError."""
    host, port = env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]
    folder, where = Path(root), "in-cluster service account"
    namespace = folder / "namespace"
    connection = Connection(
        f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        StoredCredentials(token=CredentialSource(where, path=str(folder / "token"))),
        trust=Trust(CredentialSource(where, path=str(folder / "ca.crt"))),
        proxy=proxy_for("https", host, int(port), env),
        namespace=namespace.read_text().strip() if namespace.exists() else "",
    )
    try:
        connection.renew()
    except CredentialsError as error:
        raise ConfigError(str(error)) from error
    return connection
