"""The software bill of materials of a wheel: CycloneDX JSON of the packages in a lock file.

python requirements/sbom.py requirements/runtime.txt dist/stowplan-*.whl > dist/stowplan.cdx.json

The same wheel and lock file give the same bytes. With --here, packages for other platforms and versions of Python are
left out. Operating system packages of the image are not listed: scanners read those from its package database.
"""

import argparse
import hashlib
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "stowplan"


class Locked(NamedTuple):
    """A package of a lock file."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]
    via: frozenset[str]
    """Names of the packages that require it."""

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> Iterator[Locked]:
    """The packages of a file that `uv pip compile --generate-hashes` wrote."""
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text.strip()):
        line, _, rest = entry.partition("\\\n")
        requirement = Requirement(line.strip())
        (pin,) = requirement.specifier
        if pin.operator != "==":
            raise ValueError(f"{line}: not pinned")
        via = re.findall(r"^ +#(?: via)? +(?!-c )([A-Za-z0-9][\w.-]*)", rest, re.MULTILINE)
        yield Locked(
            canonicalize_name(requirement.name),
            pin.version,
            requirement.marker,
            tuple(re.findall(r"--hash=sha256:(\S+)", rest)),
            frozenset(canonicalize_name(name) for name in via if name != "via"),
        )


def bill_of_materials(packages: list[Locked], wheel: Path) -> dict[str, Any]:
    metadata = _metadata(wheel)
    root = f"pkg:pypi/{ROOT}@{metadata['Version']}"
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": ROOT,
                "version": metadata["Version"],
                "description": metadata["Summary"],
                "licenses": [{"license": {"id": metadata["License-Expression"]}}],
                "purl": root,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
            }
        },
        "components": [_component(package) for package in packages],
        "dependencies": [
            {"ref": ref, "dependsOn": [package.purl for package in packages if name in package.via]}
            for name, ref in [(ROOT, root), *((package.name, package.purl) for package in packages)]
        ],
    }
    content = json.dumps(bill, sort_keys=True)
    return {**bill, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"}


def _component(package: Locked) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
    }
    if package.marker is not None:
        found["properties"] = [{"name": "stowplan:environmentMarker", "value": str(package.marker)}]
    return found


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lock", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--here", action="store_true", help="only the packages for this platform and version of Python")
    options = parser.parse_args()
    packages = sorted(read_lock(options.lock.read_text()))
    if options.here:
        packages = [package for package in packages if package.marker is None or package.marker.evaluate()]
    json.dump(bill_of_materials(packages, options.wheel), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
