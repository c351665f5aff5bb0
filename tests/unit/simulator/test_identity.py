import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from stowplan import api
from stowplan.simulator.identity import generate_name, make_uid, template_hash, timestamp


def test_uids_look_like_uids_and_follow_from_their_parts() -> None:
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", make_uid("Pod", "a/b", 0))
    assert make_uid("Pod", "a/b", 0) == make_uid("Pod", "a/b", 0) != make_uid("Pod", "a/b", 1)
    assert make_uid("a", "bc") != make_uid("ab", "c")


@given(st.text(alphabet="abc-", max_size=300), st.integers(0, 1000))
def test_generated_names_fit_and_use_kubernetes_letters(base: str, number: int) -> None:
    name = generate_name(base, "uid", number)
    assert name.startswith(base[:58])
    assert len(name) == min(len(base), 58) + 5
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", name[-5:])


def test_template_hashes_tell_templates_apart() -> None:
    one = api.PodTemplateSpec(spec=api.PodSpec(containers=(api.Container(image="app:1"),)))
    two = api.PodTemplateSpec(spec=api.PodSpec(containers=(api.Container(image="app:2"),)))
    assert template_hash(one) == template_hash(one) != template_hash(two)
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", template_hash(one))


def test_times_are_written_as_kubernetes_does() -> None:
    assert timestamp(1_000_000_000) == "2001-09-09T01:46:40Z"


@given(st.integers(0, 10**11))
def test_times_are_those_of_the_calendar(seconds: int) -> None:
    assert timestamp(seconds) == datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
