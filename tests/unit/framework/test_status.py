import pytest

from stowplan.framework import Code, Status, accept, error, pending, reject, reject_forever, skip, wait


def test_codes_have_the_numbers_and_names_of_kube_scheduler() -> None:
    names = ["Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"]
    assert [code.name for code in Code] == names
    assert [int(code) for code in Code] == list(range(7))


@pytest.mark.parametrize(
    ("status", "code", "rejected"),
    [
        (reject("a", "b"), Code.Unschedulable, True),
        (reject_forever("a"), Code.UnschedulableAndUnresolvable, True),
        (pending("a"), Code.Pending, True),
        (error("a"), Code.Error, False),
        (wait(5.0), Code.Wait, False),
        (skip(), Code.Skip, False),
    ],
)
def test_words_for_answers(status: Status, code: Code, rejected: bool) -> None:
    assert status.code is code
    assert status.rejected is rejected


def test_acceptance_is_no_status_at_all() -> None:
    assert accept() is None


def test_message_joins_the_reasons() -> None:
    assert reject("one", "two").message == "one, two"
    assert skip().message == ""


def test_wait_carries_its_timeout() -> None:
    assert wait(1.5).timeout == 1.5
    assert wait(1.5).with_plugin("p").timeout == 1.5


def test_signing_makes_a_copy_and_is_done_once() -> None:
    plain = reject("a")
    signed = plain.with_plugin("first")
    assert (plain.plugin, signed.plugin) == ("", "first")
    assert signed.with_plugin("second") is signed


def test_equality_is_by_code_reasons_and_plugin() -> None:
    assert reject("a") == reject("a")
    assert hash(reject("a")) == hash(reject("a"))
    different = [reject("b"), reject("a", "b"), reject_forever("a"), reject("a").with_plugin("p"), skip()]
    assert all(reject("a") != other for other in different)
    assert reject("a") != "a"


def test_repr_tells_what_it_is() -> None:
    assert repr(reject("a", "b").with_plugin("p")) == "<Unschedulable by p: a, b>"
    assert repr(skip()) == "<Skip: >"
