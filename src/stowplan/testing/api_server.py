"""The flags of etcd and kube-apiserver, and when the latter is ready."""

from pathlib import Path
from typing import NamedTuple

from stowplan.testing.certificates import Authority
from stowplan.testing.errors import SurroundingsError
from stowplan.testing.kube_api import KubeApi

THROUGHPUT_FLAGS = ("--max-requests-inflight=2000", "--max-mutating-requests-inflight=2000")

# There are no controllers that create service accounts or remove the taint of a node that is not ready.
ADMISSION_OFF = ("ServiceAccount", "TaintNodesByCondition")

# The server is not ready while an admission plugin waits for objects of a group, and one that is off never has any.
ADMISSION_OFF_WITHOUT = {
    "node.k8s.io/v1": ("RuntimeClass",),
    "scheduling.k8s.io/v1": ("Priority",),
    "storage.k8s.io/v1": ("DefaultStorageClass", "PersistentVolumeClaimResize"),
}


class ApiServerSettings(NamedTuple):
    """Settings of the API server."""

    runtime_config: dict[str, bool]
    throughput: bool
    durable: bool
    flags: tuple[str, ...]


ETCD_QUOTA_BYTES = 8 << 30
"""Room for an hour of hostile objects: etcd's default of 2 GiB counts revisions that are already compacted."""


def etcd_flags(data: str, client_url: str, peer_url: str, settings: ApiServerSettings) -> list[str]:
    """One member that keeps its data in one folder."""
    flags = {
        "--data-dir": data,
        "--listen-client-urls": client_url,
        "--advertise-client-urls": client_url,
        "--listen-peer-urls": peer_url,
        "--initial-advertise-peer-urls": peer_url,
        "--initial-cluster": f"default={peer_url}",
        "--log-level": "warn",
        "--quota-backend-bytes": ETCD_QUOTA_BYTES,
    }
    return [*(f"{flag}={value}" for flag, value in flags.items()), *([] if settings.durable else ["--unsafe-no-fsync"])]


def flags(folder: Path, authority: Authority, etcd_url: str, port: int, settings: ApiServerSettings) -> list[str]:
    """An API server on loopback, with RBAC, that knows users by token and by certificate."""
    serving = authority.server("kube-apiserver")
    signing_key = authority.signing_key()
    chosen = {
        "--etcd-servers": etcd_url,
        "--bind-address": "127.0.0.1",
        "--advertise-address": "127.0.0.1",
        "--secure-port": port,
        "--endpoint-reconciler-type": "none",
        "--cert-dir": folder,
        "--tls-cert-file": serving.certificate,
        "--tls-private-key-file": serving.key,
        "--client-ca-file": authority.file,
        "--token-auth-file": folder / "tokens.csv",
        "--authorization-mode": "RBAC",
        "--service-account-issuer": "https://kubernetes.default.svc",
        "--service-account-key-file": signing_key,
        "--service-account-signing-key-file": signing_key,
        "--service-cluster-ip-range": "10.0.0.0/24",
        **_group_flags(settings.runtime_config),
    }
    more = THROUGHPUT_FLAGS if settings.throughput else ()
    return [*(f"{flag}={value}" for flag, value in chosen.items()), *more, *settings.flags]


def _group_flags(runtime_config: dict[str, bool]) -> dict[str, str]:
    """Turns groups on and off, and with them the admission plugins that read them."""
    switches = [f"{group}={str(on).lower()}" for group, on in runtime_config.items()]
    lost = [
        name for group, names in ADMISSION_OFF_WITHOUT.items() if runtime_config.get(group) is False for name in names
    ]
    flags = {"--disable-admission-plugins": ",".join([*ADMISSION_OFF, *lost])}
    return flags | {"--runtime-config": ",".join(switches)} if switches else flags


def ready(client: KubeApi) -> bool:
    """Whether /readyz succeeds and pods can be created: the namespace `default` is created a little later."""
    try:
        client.request("GET", "/readyz")
        client.get("Namespace", "default")
    except SurroundingsError:
        return False
    return True
