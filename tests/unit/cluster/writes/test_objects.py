from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cluster.executor_rig import CONFLICT, DONE, HANG_UP, executor_rig, reasons, script
from tests.unit.cluster.scripted_server import run

from stowplan import api
from stowplan.framework import Write

CLAIM = api.PersistentVolumeClaim(
    metadata=api.ObjectMeta(name="data", namespace="ns", uid="u-1", resource_version="7", annotations={"old": "1"})
)
VOLUME = api.PersistentVolume(metadata=api.ObjectMeta(name="v1", resource_version="8"))
SLICE_CLAIM = api.ResourceClaim(metadata=api.ObjectMeta(name="gpu", namespace="ns", uid="u-2"))


@pytest.mark.parametrize(
    ("request_", "line", "content_type", "body"),
    [
        (
            Write("patch", "PersistentVolumeClaim", CLAIM, {"metadata": {"annotations": {"node": "n1"}}}),
            "PATCH /api/v1/namespaces/ns/persistentvolumeclaims/data",
            "application/merge-patch+json",
            {"metadata": {"annotations": {"node": "n1"}, "uid": "u-1", "resourceVersion": "7"}},
        ),
        (
            Write("patch", "PersistentVolume", VOLUME, {"spec": {"claimRef": None}}),
            "PATCH /api/v1/persistentvolumes/v1",
            "application/merge-patch+json",
            {"metadata": {"resourceVersion": "8"}, "spec": {"claimRef": None}},
        ),
        (
            Write("patch", "ResourceClaim", SLICE_CLAIM, {"status": {"x": 1}}, "status"),
            "PATCH /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpu/status",
            "application/merge-patch+json",
            {"metadata": {"uid": "u-2"}, "status": {"x": 1}},
        ),
        (
            Write("get", "ResourceClaim", SLICE_CLAIM),
            "GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpu",
            "application/json",
            None,
        ),
        (
            Write("create", "ResourceClaim", SLICE_CLAIM),
            "POST /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims",
            "application/json",
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "gpu", "namespace": "ns", "uid": "u-2"},
            },
        ),
        (
            Write("delete", "ResourceClaim", SLICE_CLAIM),
            "DELETE /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpu",
            "application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u-2"}},
        ),
    ],
)
def test_writing_objects(request_: Write, line: str, content_type: str, body: Any) -> None:
    now = {"metadata": {"name": "now", "resourceVersion": "99"}}

    async def play() -> None:
        async with executor_rig(lambda received: received.peer.reply(200, now)) as stage:
            stage.execute(request_)
            (outcome,) = await stage.end()
            assert type(outcome) is type(request_.item)
            assert outcome.metadata.name == (request_.item.metadata.name if request_.verb == "delete" else "now")
            (received,) = stage.server.received
            assert f"{received.method} {received.path}" == line
            assert received.headers["content-type"] == content_type
            assert (received.json if received.body else None) == body

    run(play())


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (CONFLICT, "PersistentVolume", "Conflict"),
        ((200, b"nonsense"), "PersistentVolume", "InternalError"),
        (HANG_UP, "PersistentVolume", "Timeout"),
        (DONE, "Unicorn", "NotFound"),
    ],
)
def test_writes_that_fail(reply: tuple[int, Any], kind: str, reason: str) -> None:
    async def play() -> None:
        async with executor_rig(script(reply)) as stage:
            stage.execute(Write("patch", kind, VOLUME, {}))
            assert reasons(await stage.end()) == [reason]

    run(play())


def test_the_status_of_a_claim_overtakes_first_writes_of_other_claims() -> None:
    others = [api.ResourceClaim(metadata=api.ObjectMeta(name=f"c{i}", namespace="ns")) for i in range(3)]

    async def play() -> None:
        async with executor_rig(connections=1) as rig:
            rig.execute(*(Write("patch", "ResourceClaim", other, {"metadata": {}}) for other in others))
            rig.execute(Write("patch", "ResourceClaim", SLICE_CLAIM, {"status": {}}, "status"))
            await rig.end()
            order = [each.path.split("/resourceclaims/")[1] for each in rig.server.received]
            assert order.index("gpu/status") < 2, order

    run(play())
