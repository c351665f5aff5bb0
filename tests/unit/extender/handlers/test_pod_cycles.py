"""What is kept between the requests of one pod, and for how long."""

from tests.builders import pod

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.extender.handlers.pod_cycles import EarlierAnswers, PodCycles
from stowplan.extender.handlers.verb_call import CallFacts
from stowplan.framework import Pod

CLUSTER = Cluster()


def make(name: str) -> Pod:
    return CLUSTER.pod(codec.convert(api.Pod, pod(name)))


def test_a_cycle_is_found_until_it_ends() -> None:
    cycles, web = PodCycles(), make("web")
    begun = cycles.begin(web, 0.0)
    assert cycles.find(web.uid, web.key, 1.0) is begun
    cycles.end(web.uid, web.key)
    assert cycles.find(web.uid, web.key, 1.0) is None


def test_a_new_attempt_starts_over() -> None:
    cycles, web = PodCycles(), make("web")
    first = cycles.begin(web, 0.0)
    first.state.write("x", 1)
    second = cycles.begin(web, 1.0)
    assert second is not first
    assert second.state.get("x") is None


def test_there_are_only_so_many_for_so_long() -> None:
    cycles = PodCycles(max_cycles=2, expires_after=10.0)
    pods = [make(f"web-{number}") for number in range(3)]
    for number, each in enumerate(pods):
        cycles.begin(each, float(number))
    assert len(cycles) == 2
    assert cycles.find(pods[0].uid, pods[0].key, 3.0) is None
    assert cycles.find(pods[2].uid, pods[2].key, 3.0) is not None
    assert cycles.find(pods[2].uid, pods[2].key, 12.5) is None


def test_pods_without_a_uid_go_by_name() -> None:
    cycles, web = PodCycles(), make("web")
    web.uid = ""
    begun = cycles.begin(web, 0.0)
    assert cycles.find("", "default/web", 0.0) is begun


def facts(uid: str, pod: str = "") -> CallFacts:
    found = CallFacts("filter")
    found.pod_uid, found.pod = uid, pod
    return found


def test_the_last_answers_are_kept_for_a_few_pods() -> None:
    answers = EarlierAnswers(max_pods=2)
    for uid in ("a", "b", "a", "c"):
        answers.put(facts(uid), f"to {uid}")
    assert [answers.get(facts(uid)) for uid in "abc"] == ["to a", None, "to c"]
    answers.put(facts("", "ns/p"), "by name")
    assert answers.get(facts("", "ns/p")) == "by name"
