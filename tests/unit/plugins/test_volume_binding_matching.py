from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTNAME
from tests.unit.plugins.volume_fakes import claim, volume

from stowplan import api
from stowplan.plugins.volume_binding.binder import bind
from stowplan.plugins.volume_binding.matching import CandidateVolumes, is_for

HERE = {HOSTNAME: "here"}
BY = "pv.kubernetes.io/bound-by-controller"


def ref(uid: str = "", name: str = "c", namespace: str = "ns") -> dict[str, str]:
    return {"namespace": namespace, "name": name, "uid": uid}


def sized(name: str, size: str, **changes: Any) -> api.PersistentVolume:
    spec = {"capacity": {"storage": size}, **changes.pop("spec", {})}
    return volume(name, spec=spec, **changes)


def found(wanted: api.PersistentVolumeClaim, *volumes: api.PersistentVolume, chosen: set[str] | None = None) -> str:
    match = CandidateVolumes(wanted, volumes).find(HERE, chosen or set())
    return "" if match is None else match.metadata.name


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({}, True),
        ({"on": ["here"]}, True),
        ({"on": ["there"]}, False),
        ({"spec": {"capacity": {"storage": "1000Mi"}}}, False),
        ({"spec": {"capacity": {}}}, False),
        ({"spec": {"capacity": {"storage": "1073741824"}}}, True),
        ({"spec": {"volumeMode": "Filesystem"}}, True),
        ({"spec": {"volumeMode": "Block"}}, False),
        ({"spec": {"volumeAttributesClassName": ""}}, True),
        ({"spec": {"volumeAttributesClassName": "gold"}}, False),
        ({"spec": {"storageClassName": "other"}}, False),
        ({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "other"}}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        ({"status": {"phase": "Released"}}, False),
        ({"spec": {"claimRef": ref()}}, True),
        ({"spec": {"claimRef": ref("uid-c")}}, True),
        ({"spec": {"claimRef": ref("stale")}}, False),
        ({"spec": {"claimRef": ref(name="other")}}, False),
        ({"spec": {"claimRef": ref(namespace="other")}}, False),
        # One that is reserved for the claim need not be available, nor of its class.
        ({"spec": {"claimRef": ref(), "storageClassName": "other"}, "status": {"phase": "Bound"}}, True),
        ({"spec": {"claimRef": ref(), "volumeMode": "Block"}}, False),
    ],
)
def test_which_volumes_a_claim_can_take(changes: dict[str, Any], matches: bool) -> None:
    assert bool(found(claim("c"), volume("pv", **changes))) is matches


@pytest.mark.parametrize(
    ("wanted", "offered", "matches"),
    [
        (["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"], True),
        (["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOnce"], False),
        ([], ["ReadWriteOnce"], True),
    ],
)
def test_access_modes(wanted: list[str], offered: list[str], matches: bool) -> None:
    offer = volume("pv", spec={"accessModes": offered})
    assert bool(found(claim("c", spec={"accessModes": wanted}), offer)) is matches


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"tier": "b"}}, "b"),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]}, "b"),
        ({}, "a"),
    ],
)
def test_selectors(selector: dict[str, Any], expected: str) -> None:
    volumes = [volume(tier, metadata={"labels": {"tier": tier}}) for tier in "ab"]
    assert found(claim("c", spec={"selector": selector}), *volumes) == expected


def test_the_smallest_that_is_free_wins_and_the_first_of_equals() -> None:
    volumes = (sized("big", "9Gi"), sized("small", "2Gi"), sized("same", "2048Mi"), sized("far", "1Gi", on=["there"]))
    assert found(claim("c"), *volumes) == "small"
    assert found(claim("c"), *volumes, chosen={"small"}) == "same"
    assert found(claim("c"), *volumes, chosen={"small", "same", "big"}) == ""


def test_a_reserved_volume_wins_or_leaves_none() -> None:
    near, far = (
        sized("near", "9Gi", spec={"claimRef": ref()}),
        sized("far", "9Gi", on=["there"], spec={"claimRef": ref()}),
    )
    assert found(claim("c"), sized("small", "1Gi"), near) == "near"
    assert found(claim("c"), sized("small", "1Gi"), far) == ""
    assert found(claim("c"), sized("small", "1Gi"), near, chosen={"near"}) == "small"


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, ["here"], ["there"], ["here", "there"]])), max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_the_index_by_label_finds_what_a_plain_search_would(
    offers: list[tuple[int, list[str] | None]], taken: set[int]
) -> None:
    volumes = [sized(f"pv{i}", f"{size}Gi", on=on) for i, (size, on) in enumerate(offers)]
    usable = [
        (size, i)
        for i, (size, on) in enumerate(offers)
        if (on is None or "here" in on) and i not in taken and size >= 2
    ]
    expected = f"pv{min(usable)[1]}" if usable else ""
    wanted = claim("c", spec={"resources": {"requests": {"storage": "2Gi"}}})
    assert found(wanted, *volumes, chosen={f"pv{i}" for i in taken}) == expected


def test_keys_are_the_labels_that_decide() -> None:
    assert CandidateVolumes(claim("c"), [volume("a"), volume("b", on=["x"])]).keys == {HOSTNAME}
    assert CandidateVolumes(claim("c"), [volume("a", on=["x"], spec={"volumeMode": "Block"})]).keys == frozenset()


@pytest.mark.parametrize(
    ("changes", "annotations", "changed"),
    [
        ({}, {BY: "yes"}, True),
        # Reserved by a user without the uid: completed, and still the user's doing.
        ({"spec": {"claimRef": ref()}}, {}, True),
        ({"spec": {"claimRef": ref("uid-c")}}, {}, False),
        ({"metadata": {"annotations": {BY: "no"}}}, {BY: "no"}, True),
    ],
)
def test_binding_a_volume(changes: dict[str, Any], annotations: dict[str, str], changed: bool) -> None:
    before = volume("pv", **changes)
    after = bind(before, claim("c"))
    assert (after is not before) is changed
    assert after.metadata.annotations == annotations
    assert after.spec.claim_ref is not None
    assert after.spec.claim_ref.uid == "uid-c"
    assert is_for(after, claim("c"))
    assert not is_for(after, claim("d"))
