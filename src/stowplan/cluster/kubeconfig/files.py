"""Reads and merges kubeconfig files: of entries with the same name the first wins.

Upstream: k8s.io/client-go/tools/clientcmd/loader.go
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from stowplan.api import codec
from stowplan.cluster.kubeconfig.types import ClusterEntry, ContextEntry, KubeconfigFile, UserEntry
from stowplan.config.text import parse
from stowplan.errors import ConfigError

E = TypeVar("E")


class NamedEntry(NamedTuple, Generic[E]):
    """An entry and its file, to which its paths are relative."""

    value: E
    file: Path
    path: str
    """Path in the file, such as `$.users[0].user`."""

    def where(self, field: str) -> str:
        """A field of the entry, as the prefix of a message."""
        return f"kubeconfig {self.file}: {self.path}.{field}"

    def problem(self, field: str, text: str) -> ConfigError:
        return ConfigError(f"{self.where(field)}: {text}")

    def local_path(self, path: str) -> str:
        return str(self.file.absolute().parent / path)


class Kubeconfig(NamedTuple):
    """The merged files."""

    files: tuple[Path, ...]
    current_context: str
    clusters: dict[str, NamedEntry[ClusterEntry]]
    users: dict[str, NamedEntry[UserEntry]]
    contexts: dict[str, NamedEntry[ContextEntry]]

    @property
    def source(self) -> str:
        """The files, as the prefix of a message."""
        return f"kubeconfig {':'.join(map(str, self.files))}"


def read_files(paths: Iterable[Path]) -> Kubeconfig:
    """Read and merge files that exist. Raises ConfigError."""
    merged = Kubeconfig(tuple(paths), "", {}, {}, {})
    current = ""
    for file in merged.files:
        read = _read(file)
        current = current or read.current_context
        _collect(merged.clusters, "clusters", file, ((named.name, named.cluster) for named in read.clusters))
        _collect(merged.users, "users", file, ((named.name, named.user) for named in read.users))
        _collect(merged.contexts, "contexts", file, ((named.name, named.context) for named in read.contexts))
    return merged._replace(current_context=current)


def _collect(entries: dict[str, NamedEntry[E]], section: str, file: Path, named: Iterable[tuple[str, E]]) -> None:
    for index, (name, value) in enumerate(named):
        entries.setdefault(name, NamedEntry(value, file, f"$.{section}[{index}].{section[:-1]}"))


def _read(file: Path) -> KubeconfigFile:
    source = f"kubeconfig {file}"
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror}") from error
    value, repeated = parse(text, source)
    if repeated:
        raise ConfigError(f"{source}: {': '.join(repeated[0])}")
    try:
        return codec.convert(KubeconfigFile, value)
    except codec.DecodeError as error:
        raise ConfigError(f"{source}: {error}") from error
