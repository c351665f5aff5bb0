"""Wheels made of the packages that are installed here, so that installing can be tested without a network."""

import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LEFT_OUT = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")


def fill_wheelhouse(folder: Path, requirements: Iterable[str]) -> Path:
    """All that is required, and what that requires."""
    folder.mkdir()
    for dist in sorted(_closure(requirements), key=lambda dist: dist.name):
        _write(dist, folder)
    return folder


def write_lock(file: Path, wheelhouse: Path, requirements: Iterable[str]) -> None:
    """The lock file of requirements, with the hashes of the wheels in the wheelhouse."""
    wheels = {canonicalize_name(path.name.split("-")[0]): path for path in wheelhouse.glob("*.whl")}
    with file.open("w") as lock:
        for dist in sorted(_closure(requirements), key=lambda dist: dist.name):
            digest = hashlib.sha256(wheels[canonicalize_name(dist.name)].read_bytes()).hexdigest()
            lock.write(f"{dist.name}=={dist.version} \\\n    --hash=sha256:{digest}\n    # via stowplan\n")


def requirements_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
    return re.findall(r"^Requires-Dist: (.*)$", text.partition("\n\n")[0], re.MULTILINE)


def _closure(requirements: Iterable[str]) -> set[Distribution]:
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        dist = distribution(requirement.name)
        if dist.name not in found:
            found[dist.name] = dist
            waiting += dist.requires or ()
    return set(found.values())


def _write(dist: Distribution, folder: Path) -> None:
    info = re.sub(r"[-_.]+", "_", dist.name)
    tags = re.findall(r"^Tag: (\S+)$", dist.read_text("WHEEL") or "", re.MULTILINE)
    parts = zip(*(tag.split("-") for tag in tags), strict=True)
    tag = "-".join(".".join(dict.fromkeys(part)) for part in parts)
    with zipfile.ZipFile(folder / f"{info}-{dist.version}-{tag}.whl", "w") as archive:
        names = []
        for name, path in _files(dist):
            archive.write(path, name)
            names.append(name)
        (record,) = {f"{name.split('/')[0]}/RECORD" for name in names if name.endswith(".dist-info/METADATA")}
        archive.writestr(record, "".join(f"{name},,\n" for name in [*names, record]))


def _files(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """What the wheel had: not what installing added, nor the tests, which for NumPy are half of it."""
    for file in dist.files or ():
        name = file.as_posix()
        unwanted = name.startswith("../") or name.endswith((".pyc", ".pyi")) or "/tests/" in name
        if not unwanted and file.name not in LEFT_OUT:
            yield name, Path(str(file.locate()))
