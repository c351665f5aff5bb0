"""Keys, certificates and tokens: inline, or in files that are rotated.

Upstream: k8s.io/client-go/transport/token_source.go, k8s.io/client-go/transport/cert_rotation.go
"""

from pathlib import Path

from stowplan import logs
from stowplan.cluster.errors import CredentialsError

REREAD_SECONDS = 50.0
"""Age after which a file is read again. Service account tokens live at least ten minutes and are replaced when a fifth
of that is left."""

log = logs.get(__name__)


class CredentialSource:
    """Bytes of a credential. `where` names their field in the kubeconfig; the bytes are never logged."""

    __slots__ = ("_last", "path", "where")

    def __init__(self, where: str, *, data: bytes = b"", path: str = "") -> None:
        self.where = where
        self.path = path
        self._last = data

    def __repr__(self) -> str:
        return f"<CredentialSource {self.where}>"

    def read(self) -> bytes:
        """The current bytes. A file that was readable once may be missing for a while."""
        if self.path:
            try:
                self._last = self._read_file()
            except CredentialsError as error:
                if not self._last:
                    raise
                log.warning("Failed to read credentials, the previous ones stay in use", err=error)
        return self._last

    def _read_file(self) -> bytes:
        try:
            content = Path(self.path).read_bytes()
        except OSError as error:
            raise CredentialsError(f"{self.where}: {error.strerror}: {self.path}") from error
        if not content.strip():
            raise CredentialsError(f"{self.where}: the file is empty: {self.path}")
        return content
