"""Keys, certificates and tokens: given in place, or in files that are replaced from time to time."""

from pathlib import Path

from stowplan import logs
from stowplan.cluster.errors import CredentialsError

REREAD_SECONDS = 50.0
"""How long what came from a file is taken as it was read. Tokens of service accounts live for ten minutes or more, and
a new one is in place when a fifth of that is left."""

log = logs.get(__name__)


class CredentialSource:
    """Some bytes to log in with. `where` names the field that gave them; the bytes themselves are never told."""

    __slots__ = ("_last", "path", "where")

    def __init__(self, where: str, *, data: bytes = b"", path: str = "") -> None:
        self.where = where
        self.path = path
        self._last = data

    def __repr__(self) -> str:
        return f"<Material {self.where}>"

    def read(self) -> bytes:
        """The bytes as they are now. A file that was good once may be missing for a while."""
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
