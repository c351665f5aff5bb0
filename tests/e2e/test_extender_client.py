"""Extenders that `stowplan scheduler` asks, on a real API server; kube-scheduler does the same with their answers."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import trustme
from tests.builders import Json
from tests.e2e.conftest import StartStowplan
from tests.e2e.extender_outage import OutageKind, recovery
from tests.extenders import WebExtender

from stowplan.testing import ControlPlane, KubeApi, node, pod, wait_until
from stowplan.testing.binaries import release
from stowplan.testing.cleanup import delete_namespace

pytestmark = pytest.mark.e2e

StartScheduler = Callable[[Json], object]

MAX_BACKOFF_SECONDS = 10
KEEPING_MANAGED_FIELDS = {"kube-scheduler"} if release() in ("v1.33", "v1.34", "v1.35") else set()
"""The schedulers that send a pod's managedFields; kube-scheduler does not since v1.36."""

BROKEN, UNSAID = "licence pool exhausted", "failed filter with extender at URL {}/filter, code 400"


class Warden:
    """An extender with all four verbs. What it says about a pod, the pod's label `ask` tells."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._api = control_plane.client()
        self.answers = {
            "/filter": self.filter,
            "/prioritize": self.prioritize,
            "/preempt": self.preempt,
            "/bind": self.bind,
        }

    def filter(self, request: Json) -> Any:
        names = names_in(request)
        ask = request["Pod"]["metadata"].get("labels", {}).get("ask", "")
        if ask == "broken":
            return {"Error": BROKEN}
        if ask == "unsaid":
            return 400, b"business refusal"
        failed = {name: "no licence" for name in names if ask == "refused" or (ask == "picky" and name != "ant")}
        hopeless = {name: "wrong silicon" for name in names if ask == "hopeless"}
        passing = [name for name in names if name not in failed and name not in hopeless]
        whole = request["Nodes"]
        if whole is not None:
            whole = {"items": [item for item in whole["items"] if item["metadata"]["name"] in passing]}
        named = None if request["NodeNames"] is None else passing
        return {"Nodes": whole, "NodeNames": named, "FailedNodes": failed, "FailedAndUnresolvableNodes": hopeless}

    def prioritize(self, request: Json) -> Any:
        return [{"Host": name, "Score": 10 if name == "cow" else 0} for name in names_in(request)]

    def preempt(self, request: Json) -> Any:
        if request["NodeNameToMetaVictims"] is not None:
            victims = request["NodeNameToMetaVictims"]
        else:
            full = request["NodeNameToVictims"]
            uids = {name: [each["metadata"]["uid"] for each in told["Pods"]] for name, told in full.items()}
            victims = {name: {"Pods": [{"UID": uid} for uid in found]} for name, found in uids.items()}
        return {"NodeNameToMetaVictims": {name: told for name, told in victims.items() if name == "bee"}}

    def bind(self, request: Json) -> Any:
        name, namespace = request["PodName"], request["PodNamespace"]
        metadata = {"name": name, "namespace": namespace, "uid": request["PodUID"], "annotations": {"bound": "outside"}}
        target = {"kind": "Node", "name": request["Node"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        self._api.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", binding)
        return {}

    def close(self) -> None:
        self._api.close()


def names_in(request: Json) -> list[str]:
    if request["NodeNames"] is not None:
        return list(request["NodeNames"])
    return [item["metadata"]["name"] for item in request["Nodes"]["items"]]


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def tls_server(mutual: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("extender.example").configure_cert(context)
    if mutual:
        authority().configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def tls_config(mutual: bool) -> Json:
    def data(pem: trustme.Blob) -> str:
        return base64.b64encode(pem.bytes()).decode()

    config = {"caData": data(authority().cert_pem), "serverName": "extender.example"}
    if mutual:
        client = authority().issue_cert(common_name="scheduler")
        config |= {"certData": data(client.cert_chain_pems[0]), "keyData": data(client.private_key_pem)}
    return {"enableHTTPS": True, "tlsConfig": config}


def notes(api: KubeApi, namespace: str, name: str) -> set[str]:
    """What events of failure say about a pod."""
    events = api.list("events.k8s.io/v1/Event", namespace)
    return {e["note"] for e in events if e["regarding"]["name"] == name and e["reason"] == "FailedScheduling"}


@pytest.fixture
def start(request: pytest.FixtureRequest, start_stowplan: StartStowplan) -> StartScheduler:
    """Starts the scheduler that the test is parametrised with."""
    if request.param == "stowplan":
        return lambda config: start_stowplan(config=config)
    start_kube_scheduler = request.getfixturevalue("start_kube_scheduler")
    return lambda config: start_kube_scheduler(config=config)


@pytest.fixture
def warden(control_plane: ControlPlane) -> Iterator[Warden]:
    warden = Warden(control_plane)
    yield warden
    warden.close()


@pytest.mark.parametrize(
    ("start", "transport", "cached"),
    [
        ("stowplan", "http", True),
        ("stowplan", "https", False),
        ("stowplan", "mtls", True),
        ("kube-scheduler", "mtls", False),
        ("kube-scheduler", "http", True),
    ],
    indirect=["start"],
)
def test_all_verbs(
    request: pytest.FixtureRequest,
    start: StartScheduler,
    transport: str,
    cached: bool,
    kube_api: KubeApi,
    namespace: str,
    warden: Warden,
) -> None:
    tls = None if transport == "http" else tls_server(transport == "mtls")
    secured = {} if transport == "http" else tls_config(transport == "mtls")
    verbs = {f"{verb}Verb": verb for verb in ("filter", "prioritize", "preempt", "bind")}
    with WebExtender(warden.answers, tls) as extender:
        entry = {"urlPrefix": f"{extender.prefix}/", "nodeCacheCapable": cached, "weight": 99, **verbs, **secured}
        kube_api.create_all(node(name, labels={"odd": "label"}) for name in ("ant", "bee", "cow"))
        asks = ("broken", "unsaid", "refused", "hopeless", "picky", "any")
        kube_api.create_all(pod(ask, namespace, labels={"ask": ask}) for ask in asks)
        start({"extenders": [entry]})
        assert kube_api.wait_for_pods_bound(namespace, 2) == {"picky": "ant", "any": "cow"}
        told = {name: wait_until(lambda name=name: notes(kube_api, namespace, name)) for name in asks[:4]}
        assert told["broken"] == {BROKEN}
        (unsaid,) = told["unsaid"]
        assert unsaid.startswith(UNSAID.format(extender.prefix))
        (refused,) = told["refused"]
        assert refused.startswith("0/3 nodes are available: 3 no licence. ")
        assert refused.endswith("3 No preemption victims found for incoming pod.")
        (hopeless,) = told["hopeless"]
        assert hopeless.endswith("0/3 nodes are available: 3 Preemption is not helpful for scheduling.")
        bound = kube_api.get("Pod", "any", namespace)
        assert bound["metadata"]["annotations"] == {"bound": "outside"}
        (first,) = (each for each in extender.of("/filter") if each["Pod"]["metadata"]["name"] == "any")
        assert "kind" not in first["Pod"]
        keeps = request.node.callspec.params["start"] in KEEPING_MANAGED_FIELDS
        assert ("managedFields" in first["Pod"]["metadata"]) is keeps
        if not cached:
            assert first["Nodes"]["items"][0]["metadata"]["labels"]["odd"] == "label"
        assert all(len(names_in(each)) > 1 for each in extender.of("/prioritize")), "one node needs no scores"

        low = [
            pod(f"low-{name}", namespace, cpu="3", nodeName=name, terminationGracePeriodSeconds=0)
            for name in ("ant", "bee", "cow")
        ]
        kube_api.create_all(low)
        kube_api.create(pod("vip", namespace, cpu="3", priorityClassName="system-node-critical"))
        bound_to = wait_until(lambda: kube_api.bound_pods(namespace).get("vip"))
        assert bound_to == "bee"
        assert {"low-ant", "low-cow"} <= set(kube_api.bound_pods(namespace))
        (preempted,) = extender.of("/preempt")
        assert set(preempted["NodeNameToMetaVictims" if cached else "NodeNameToVictims"]) == {"ant", "bee", "cow"}


@pytest.mark.parametrize("kind", ["refused", "silent"])
def test_after_an_outage_pods_are_bound_as_soon_as_by_kube_scheduler(
    kind: OutageKind, start_stowplan: StartStowplan, start_kube_scheduler: Callable[..., Any], kube_api: KubeApi
) -> None:
    kube_api.create(node("n", cpu="64"))
    took = {}
    for name, start in (("kube-scheduler", start_kube_scheduler), ("stowplan", start_stowplan)):
        namespace = f"outage-{kind}-{name}"
        kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        try:
            took[name] = recovery(lambda config, start=start: start(config=config), kube_api, namespace, kind, 15)
        finally:
            delete_namespace(kube_api, namespace)
    (first, last), (their_first, _) = took["stowplan"], took["kube-scheduler"]
    assert first <= 2 * their_first + 1, took
    assert last <= MAX_BACKOFF_SECONDS + 2, took


@pytest.mark.parametrize("start", ["stowplan", "kube-scheduler"], indirect=True)
def test_interest_order_and_what_can_be_done_without(start: StartScheduler, kube_api: KubeApi, namespace: str) -> None:
    """One that is dead and ignorable, one for a resource, and one that takes away a node."""

    def without(name: str) -> Callable[[Json], Json]:
        return lambda request: {"NodeNames": [each for each in request["NodeNames"] if each != name]}

    with (
        WebExtender({"/f": without("ant"), "/b": lambda request: (500, b"")}) as all_pods,
        WebExtender({"/f": without("bee")}) as some_pods,
    ):
        kube_api.create_all(node(name) for name in ("ant", "bee", "cow"))
        common = {"filterVerb": "f", "nodeCacheCapable": True}
        managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
        start(
            {
                "extenders": [
                    {**common, "urlPrefix": "http://127.0.0.1:1", "ignorable": True},
                    {**common, "urlPrefix": all_pods.prefix, "ignorable": True, "bindVerb": "b"},
                    {**common, "urlPrefix": some_pods.prefix, "managedResources": managed},
                ]
            }
        )
        kube_api.create_all(pod(f"plain-{i}", namespace) for i in range(5))
        wanting = pod("wanting", namespace)
        wanting["spec"]["containers"][0]["resources"]["limits"] = {"example.com/gpu": "1"}
        kube_api.create(wanting)
        places = kube_api.wait_for_pods_bound(namespace, 6)
        assert places.pop("wanting") == "cow"
        assert set(places.values()) <= {"bee", "cow"}
        assert [each["Pod"]["metadata"]["name"] for each in some_pods.of("/f")] == ["wanting"]
        (last,) = (each for each in all_pods.of("/f") if each["Pod"]["metadata"]["name"] == "wanting")
        assert set(last["NodeNames"]) == {"ant", "cow"}
        assert len(all_pods.of("/b")) == 6, "it cannot bind, and need not"
