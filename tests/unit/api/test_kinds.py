from stowplan.api import CASE_LISTS, KINDS, Pod, PodDisruptionBudget
from stowplan.api.meta import ObjectMeta


def test_kinds_are_found_by_name_and_by_list() -> None:
    assert KINDS["Pod"].struct is Pod
    assert CASE_LISTS["pdbs"].struct is PodDisruptionBudget
    assert CASE_LISTS["pdbs"] is KINDS["PodDisruptionBudget"]


def test_every_list_of_a_case_has_a_kind() -> None:
    core = "pods nodes namespaces services replicationcontrollers pvcs pvs"
    storage = "storageclasses csinodes csidrivers csistoragecapacities volumeattachments"
    devices = "resourceclaims resourceclaimtemplates deviceclasses resourceslices"
    custom = "priorityclasses coschedulingpodgroups elasticquotas noderesourcetopologies"
    assert set(CASE_LISTS) == {
        *custom.split(),
        *core.split(),
        *storage.split(),
        *devices.split(),
        "replicasets",
        "statefulsets",
        "pdbs",
    }


def test_kinds_are_named_after_their_structs_and_have_metadata() -> None:
    for kind in KINDS.values():
        assert kind.name == kind.struct.__name__
        assert isinstance(kind.struct().metadata, ObjectMeta)
        assert kind.resource == kind.resource.lower()
