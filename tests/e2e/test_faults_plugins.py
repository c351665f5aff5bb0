"""Users' plugins that misbehave: it costs the pods that they do it to, and nobody else."""

from pathlib import Path
from typing import Any

import pytest
from tests.e2e import misbehaving_plugin
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import KubeApi, Process, SurroundingsError, node, pod, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HERE = Path(__file__).parent
DEADLINE = 2
FAILED = 'running {} plugin "Misbehaving": '
SCORE_FAILED = 'running Score plugins: plugin "Misbehaving" failed with: '

TROUBLES = {
    "pre_filter-raises": FAILED.format("PreFilter") + "pre_filter raised RuntimeError: out of order",
    "pre_filter-exits": FAILED.format("PreFilter") + "pre_filter raised SystemExit: ",
    "pre_filter-nonsense": FAILED.format("PreFilter")
    + "pre_filter returned 7.5j, expected a Status, node names or None",
    "filter-raises": 'running "Misbehaving" filter plugin: filter raised RuntimeError: out of order',
    "filter-nonsense": 'running "Misbehaving" filter plugin: it returned 7.5j, expected a Status or None',
    "pre_score-raises": FAILED.format("PreScore") + "pre_score raised RuntimeError: out of order",
    "score-raises": SCORE_FAILED + "score raised RuntimeError: out of order",
    "score-nonsense": SCORE_FAILED + "score returned 7.5j, expected a number",
    "reserve-raises": FAILED.format("Reserve") + "reserve raised RuntimeError: out of order",
    "permit-raises": FAILED.format("Permit") + "permit raised RuntimeError: out of order",
    "permit-waits": "0/1 nodes are available: 1 rejected due to timeout after waiting 1s at plugin Misbehaving.",
    "permit-nonsense": FAILED.format("Permit") + "it returned 7.5j, expected a Status or None",
    "permit-hangs": FAILED.format("Permit") + f"permit did not return within {DEADLINE} s",
    "pre_bind-raises": FAILED.format("PreBind") + "pre_bind raised RuntimeError: out of order",
    "pre_bind-exits": FAILED.format("PreBind") + "pre_bind raised SystemExit: ",
    "pre_bind-nonsense": FAILED.format("PreBind") + "it returned 7.5j, expected a Status or None",
    "pre_bind-hangs": FAILED.format("PreBind") + f"pre_bind did not return within {DEADLINE} s",
    "bind-raises": FAILED.format("Bind") + "bind raised RuntimeError: out of order",
    "bind-nonsense": FAILED.format("Bind") + "it returned 7.5j, expected a Status or None",
}
"""What the pods' owners are told."""

HARMLESS = ("post_bind-raises", "post_bind-exits", "post_bind-hangs", "post_bind-nonsense")
"""By then the pod is bound."""

BINDS_FIRST: dict[str, Any] = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Misbehaving"}]},
                "bind": {"disabled": [{"name": "*"}], "enabled": [{"name": "Misbehaving"}, {"name": "DefaultBinder"}]},
            }
        }
    ]
}


LINES = {
    "raises": misbehaving_plugin.raises.__code__.co_firstlineno + 1,
    "exits": misbehaving_plugin.Misbehaving._do.__code__.co_firstlineno + 2,
}
"""Where exceptions leave the plugin."""


def place(trouble: str) -> str:
    line = LINES.get(trouble.partition("-")[2])
    return "" if line is None else f" (tests/e2e/misbehaving_plugin.py:{line})"


def named(trouble: str) -> str:
    return trouble.replace("_", "").replace("-", "--")


def notes(kube_api: KubeApi, namespace: str) -> dict[str, set[str]]:
    """By pod, what events of failure say."""
    told: dict[str, set[str]] = {}
    for event in kube_api.list("events.k8s.io/v1/Event", namespace):
        if event["reason"] == "FailedScheduling":
            told.setdefault(event["regarding"]["name"], set()).add(event["note"])
    return told


@pytest.fixture
def scheduler(start_stowplan: StartStowplan) -> Process:
    plugin, limit = f"--plugin={HERE}/misbehaving_plugin.py:Misbehaving", f"--plugin-call-timeout={DEADLINE}s"
    return start_stowplan(plugin, limit, config=BINDS_FIRST)


def test_plugins_that_misbehave(kube_api: KubeApi, namespace: str, audit: Audit, scheduler: Process) -> None:
    kube_api.create_all(node(name, cpu="40", memory="40Gi", pods=500) for name in ("ant", "bee"))
    troubled = [pod(named(each), namespace, labels={"trouble": each}) for each in (*TROUBLES, *HARMLESS)]
    kube_api.create_all(troubled)
    with arriving(kube_api, namespace, 200, within=0):  # Nobody waits for those that hang, which they do for an hour.
        wait_until(lambda: audit.seen >= 200 + len(HARMLESS))
    expected = {named(trouble): note + place(trouble) for trouble, note in TROUBLES.items()}

    def missing() -> dict[str, str]:
        told = notes(kube_api, namespace)
        return {name: note for name, note in expected.items() if note not in told.get(name, set())}

    try:
        wait_until(lambda: not missing(), what="the events")
    except SurroundingsError:
        told = notes(kube_api, namespace)
        pytest.fail(
            "\n".join(f"{name} was told {told.get(name)} instead of {note}" for name, note in missing().items())
        )
    assert audit.seen == 200 + len(HARMLESS)
    for name in expected:
        kube_api.patch("Pod", name, {"metadata": {"labels": {"trouble": None}}}, namespace)
    audit.wait_for_all(namespace, 200 + len(troubled))
    scheduler.stop()
    assert scheduler.returncode == 0, "whatever still hangs"
