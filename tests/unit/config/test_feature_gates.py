import re

import pytest

from stowplan.config.feature_gates import DYNAMIC_RESOURCES, TAINT_RULES, parse_gates
from stowplan.config.releases import LATEST, RELEASES, FeatureGate
from stowplan.errors import ConfigError


def test_all_gates_stand_at_their_defaults() -> None:
    gates = parse_gates([])
    assert gates == {name: gate.default for name, gate in LATEST.gates.items()}
    assert len(gates) == 241


@pytest.mark.parametrize(
    ("name", "gate"),
    [
        ("SchedulerQueueingHints", FeatureGate("", True, True)),
        ("SchedulerAsyncAPICalls", FeatureGate("BETA", False, False)),
        ("GangScheduling", FeatureGate("ALPHA", False, False)),
        ("NodeDeclaredFeatures", FeatureGate("BETA", True, False)),
    ],
)
def test_how_gates_stand_in_this_release(name: str, gate: FeatureGate) -> None:
    assert LATEST.gates[name] == gate


@pytest.mark.parametrize("prefix", ["", "kube:"])
def test_gates_can_be_given(prefix: str) -> None:
    gates = parse_gates([f"{prefix}ComponentFlagz=false", f"{prefix}LoggingAlphaOptions=T"])
    assert (gates["ComponentFlagz"], gates["LoggingAlphaOptions"]) == (False, True)


def test_rules_that_taint_devices_can_be_turned_on() -> None:
    assert parse_gates([f"{TAINT_RULES}=true"])[TAINT_RULES] is True


def test_claims_can_be_served_where_they_are_off_by_default() -> None:
    old = RELEASES["1.33"]
    assert parse_gates([], old)[DYNAMIC_RESOURCES] is False
    gates = parse_gates([f"{DYNAMIC_RESOURCES}=true"], old)
    assert old.with_gates(gates).has(DYNAMIC_RESOURCES)
    assert not old.has(DYNAMIC_RESOURCES)


def test_gates_are_those_of_the_release() -> None:
    assert "NodeDeclaredFeatures" not in parse_gates([], RELEASES["1.34"])
    with pytest.raises(ConfigError, match=r"^unrecognized feature gate: NodeDeclaredFeatures$"):
        parse_gates(["NodeDeclaredFeatures=false"], RELEASES["1.34"])
    with pytest.raises(ConfigError, match=r"with the default gates of v1.34$"):
        parse_gates(["PodLevelResources=false"], RELEASES["1.34"])


def test_a_decisive_gate_may_be_given_its_default() -> None:
    assert parse_gates(["GangScheduling=false"])["GangScheduling"] is False


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("Foo=true", "unrecognized feature gate: Foo"),
        (
            "SchedulerQueueingHints=false",
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
        ),
        ("SchedulerAsyncAPICalls", "missing bool value for SchedulerAsyncAPICalls"),
        (
            "SchedulerAsyncAPICalls=x",
            'invalid value of SchedulerAsyncAPICalls=x, err: strconv.ParseBool: parsing "x": invalid syntax',
        ),
        ("wardle:Foo=true", "component not registered: wardle"),
    ],
)
def test_kube_schedulers_words(item: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gates([item])
    assert str(caught.value) == problem


def test_prefixes_are_not_mixed() -> None:
    with pytest.raises(ConfigError, match="do not mix use"):
        parse_gates(["kube:ComponentFlagz=false", "ComponentStatusz=false"])


@pytest.mark.parametrize("item", ["AllAlpha=true", "AllBeta=false", "PodLevelResources=false"])
def test_rules_for_pods_are_those_of_the_defaults(item: str) -> None:
    with pytest.raises(ConfigError, match=rf"^--feature-gates: {item.partition('=')[0]} cannot be changed"):
        parse_gates([item])


GROUPS = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption")


def test_gates_of_pod_groups_can_be_changed() -> None:
    gates = parse_gates([f"{name}=true" for name in GROUPS])
    assert all(gates[name] for name in GROUPS)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("GangScheduling", "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"),
        ("WorkloadAwarePreemption", "WorkloadAwarePreemption is enabled, but depends on features that are disabled: "),
    ],
)
def test_gates_of_pod_groups_need_others(given: str, text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        parse_gates([f"{given}=true"])


def test_earlier_releases_have_other_pod_groups() -> None:
    with pytest.raises(ConfigError, match="GenericWorkload cannot be changed"):
        parse_gates(["GenericWorkload=true"], RELEASES["1.35"])
