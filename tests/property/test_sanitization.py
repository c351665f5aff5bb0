"""Sanitized objects hold no text that scheduling does not read, and are scheduled as the originals."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.builders import Json, World, profile_config
from tests.property.pod_schema import DEFINITIONS, FILE, fill, from_openapi, text_paths, written
from tests.property.vocabulary import CONFIGS, NODES, OBJECTS, PODS, make_node, make_pod

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.api.sanitization import Sanitizer
from stowplan.cache.templates import Templates
from stowplan.testing import KubeApi

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))
TOKEN = "hush"
SANITIZER = Sanitizer()

READ = r"""
metadata\.(name|generateName|namespace|uid|resourceVersion|creationTimestamp|deletionTimestamp|finalizers\[\])
metadata\.labels\..*
metadata\.ownerReferences\[\]\.(apiVersion|kind|name|uid)
spec\.(nodeName|schedulerName|priorityClassName|preemptionPolicy|restartPolicy)
spec\.(affinity|nodeSelector|overhead|tolerations\[\]|topologySpreadConstraints\[\])\..*
spec\.(resources|resourceClaims\[\]|schedulingGates\[\]|schedulingGroup)\..*
spec\.(containers|initContainers)\[\]\.(name|image|restartPolicy|restartPolicyRules\[\]\.action|resources\..*)
spec\.(containers|initContainers)\[\]\.ports\[\]\.(name|hostIP|protocol)
spec\.volumes\[\]\.(name|persistentVolumeClaim\.claimName|csi\.driver|image\.reference)
spec\.volumes\[\]\.(awsElasticBlockStore|cinder|portworxVolume)\.volumeID
spec\.volumes\[\]\.(gcePersistentDisk\.pdName|vsphereVolume\.volumePath|azureDisk\.(diskName|diskURI))
spec\.volumes\[\]\.(iscsi\.(iqn|targetPortal)|rbd\.(image|pool|monitors\[\]))
spec\.volumes\[\]\.ephemeral\.volumeClaimTemplate\.metadata\.(labels\..*|finalizers\[\]|ownerReferences\[\]\..*)
spec\.volumes\[\]\.ephemeral\.volumeClaimTemplate\.metadata\.(name|generateName|namespace|uid|resourceVersion)
spec\.volumes\[\]\.ephemeral\.volumeClaimTemplate\.metadata\.(creation|deletion)Timestamp
spec\.volumes\[\]\.ephemeral\.volumeClaimTemplate\.spec\.(resources\..*|selector\..*|accessModes\[\]|volumeMode)
spec\.volumes\[\]\.ephemeral\.volumeClaimTemplate\.spec\.(storageClassName|volumeAttributesClassName|volumeName)
status\.(phase|nominatedNodeName|startTime|resize|resources\..*|allocatedResources\..*)
status\.conditions\[\]\.(type|status|reason|lastTransitionTime)
status\.(containerStatuses|initContainerStatuses)\[\]\.(name|resources\..*|allocatedResources\..*)
status\.(resourceClaimStatuses\[\]|extendedResourceClaimStatus)\..*
"""
"""Paths of texts that may survive, as regular expressions. A path that is added here is in every recording."""

DECODED = r"spec\.volumes\[\]\.(azureFile\.|ephemeral\.volumeClaimTemplate\.metadata\.annotations\.).*"
"""Texts that no decision depends on, although pods with different ones have different templates."""

is_read = re.compile("|".join(READ.split())).fullmatch
is_decoded = re.compile(DECODED).fullmatch


def test_exactly_the_fields_that_are_read_survive() -> None:
    tokens = {path: f"{TOKEN}-{number}." for number, path in enumerate(text_paths())}
    full = fill(tokens.get)
    assert all(token in repr(full) for token in tokens.values())
    left = repr(SANITIZER.sanitize(api.Pod, full))
    survivors = {path for path, token in tokens.items() if token in left}
    assert survivors == {path for path in tokens if is_read(path)}
    assert len(tokens) - len(survivors) > 500


def test_annotations_survive_by_name() -> None:
    annotations = {"gpu": "1", "kubectl.kubernetes.io/last-applied-configuration": TOKEN, "other": TOKEN}
    selected = {"volume.kubernetes.io/selected-node": "n"}
    claim = {"metadata": {"name": "c", "annotations": annotations | selected}}
    left = Sanitizer(["gpu"]).sanitize(api.PersistentVolumeClaim, claim)
    assert left == {"metadata": {"name": "c", "annotations": {"gpu": "1"} | selected}}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_unexpected_types_do_not_survive(kind: str) -> None:
    """Wherever a text is allowed, an object is not, and the reverse."""

    def swapped(value: Any) -> Any:
        if isinstance(value, dict):
            return TOKEN
        return {TOKEN: [TOKEN]} if isinstance(value, str | list) else [TOKEN]

    for value in (TOKEN, [TOKEN], [[TOKEN]], {TOKEN: TOKEN}, {"metadata": TOKEN, "spec": [TOKEN], "status": TOKEN}):
        assert TOKEN not in repr(SANITIZER.sanitize(KINDS[kind].struct, value))
    for item in _parts(fill(lambda path: "x")):
        for key, value in item.items():
            item[key] = swapped(value)
            assert TOKEN not in repr(SANITIZER.sanitize(KINDS[kind].struct, item)), key
            item[key] = value


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects that a pod begins with: the pod, its metadata, spec and status."""
    yield value
    for key in ("metadata", "spec", "status"):
        yield {key: dict(value[key])}


def planted(pod: Json, random: Random, decoded: bool) -> Json:
    """The pod with tokens in some of the fields that scheduling does not read, in the parts that it has and in others;
    in those that are decoded only on demand."""
    numbers = count()
    share = random.choice((0.02, 0.2, 1.0))

    def text(path: str) -> str | None:
        left_alone = is_read(path) or (is_decoded(path) and not decoded) or random.random() > share
        return None if left_alone else f"{TOKEN}-{next(numbers)}."

    return _merged("Pod", "", pod, text)


def _merged(kind: Any, path: str, value: Any, text: Callable[[str], str | None]) -> Any:
    if isinstance(kind, list):
        return [_merged(kind[0], f"{path}[]", item, text) for item in value]
    if isinstance(kind, dict) or kind not in DEFINITIONS:
        return value
    made = dict(value)
    for name, each in DEFINITIONS[kind].items():
        at = f"{path}.{name}".lstrip(".")
        if name in made:
            made[name] = _merged(each, at, made[name], text)
        elif (found := fill(text, each, at)) is not None:
            made[name] = found
    return made


def world(nodes: list[int], objects: list[int], config: int, clean: Callable[[str, Json], Json]) -> World:
    args = CONFIGS[config]
    made = World(config=None if args is None else profile_config(args=args))
    for number, shape in enumerate(nodes):
        made.put_node(clean("Node", make_node(f"n{number}", shape)))
    for index in objects:
        kind, item = OBJECTS[index]
        body = {key: value for key, value in item.items() if key in ("spec", "status")}
        metadata = {key: value for key, value in item.items() if key not in ("spec", "status")}
        made.cluster.put(codec.convert(KINDS[kind].struct, clean(kind, {"metadata": metadata, **body})))
    return made


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(0, len(NODES) - 1), min_size=1, max_size=8),
    st.lists(st.integers(0, len(OBJECTS) - 1), unique=True),
    st.lists(st.integers(0, len(PODS) - 1), min_size=1, max_size=6),
    st.integers(0, len(CONFIGS) - 1),
    st.integers(0, 2**32),
)
def test_decisions_about_sanitized_objects_are_the_same(
    nodes: list[int], objects: list[int], pods: list[int], config: int, seed: int
) -> None:
    random, templates = Random(seed), Templates()
    original = world(nodes, objects, config, lambda kind, item: item)
    sanitized = world(nodes, objects, config, lambda kind, item: SANITIZER.sanitize(KINDS[kind].struct, item))
    for number, shape in enumerate(pods):
        decoded = random.random() < 0.5
        pod = planted(make_pod(f"p{number}", shape), random, decoded)
        clean = SANITIZER.sanitize(api.Pod, pod)
        assert TOKEN not in repr(clean)
        assert decoded or template_of(templates, clean) is template_of(templates, pod)
        decided = [each.decide(each.pod(item)) for each, item in ((original, pod), (sanitized, clean))]
        assert decided[0].record() == decided[1].record()
        if decided[0].node_name:
            for each, item in ((original, pod), (sanitized, clean)):
                each.add_pod({**item, "spec": {**item["spec"], "nodeName": decided[0].node_name}})


def template_of(templates: Templates, pod: Json) -> object:
    return templates.pod(codec.convert(api.Pod, pod)).template


@pytest.mark.e2e
def test_the_schema_is_the_api_servers(kube_api: KubeApi) -> None:
    schemas = kube_api.request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    assert FILE.read_text() == written(from_openapi(schemas))
