"""A configuration of every API version, as users write it (`given`), and its conversion to v1 (`expected`).

An expected file has the notices as comments at its top. `python -m tests.conversion.samples` writes them anew.
"""

from pathlib import Path

from stowplan.config import Loaded, read, yaml_text
from stowplan.config.conversion import PolicySource

HERE = Path(__file__).parent
GIVEN = {file.stem: file for file in sorted((HERE / "given").iterdir())}
NAMES = tuple(GIVEN)
POLICY = "/etc/kubernetes/scheduler-policy.yaml"
"""The path in the sample that refers to a policy file; its content is `policy-extender-only`."""
KUBECONFIG = "/etc/kubernetes/scheduler.conf"
"""The kubeconfig that samples name."""
PLUGINS = ("sample-plugin", "sample-plugin-2")
"""Plugins that are in no tree."""


def text_of(name: str) -> str:
    return GIVEN[name].read_text()


def policy(source: PolicySource) -> str:
    assert source.file == POLICY
    return text_of("policy-extender-only")


def loaded(name: str) -> Loaded:
    return read(text_of(name), GIVEN[name].name, policies=policy)


def shown(name: str) -> str:
    """What a sample comes to, as its expected file has it."""
    converted = loaded(name).converted
    plain = converted.plain_http
    lines = [f"# {notice}" for notice in converted.notices]
    if plain.healthz or plain.metrics:
        lines.append(f"# plain HTTP: healthz {plain.healthz}, metrics {plain.metrics}, asked {plain.explicit}")
    return "\n".join([*lines, yaml_text.dump(converted.value)])


def expected_file(name: str) -> Path:
    return HERE / "expected" / f"{name}.yaml"


if __name__ == "__main__":
    for sample in NAMES:
        expected_file(sample).write_text(shown(sample))
