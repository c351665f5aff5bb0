import pytest

from stowplan.errors import StowplanError
from stowplan.framework import Code
from stowplan.runtime.points.cycle_error import CycleError, failed_at


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("preFilter", 'running PreFilter plugin "P": oops'),
        ("filter", 'running "P" filter plugin: oops'),
        ("preScore", 'running PreScore plugin "P": oops'),
        ("score", 'running Score plugins: plugin "P" failed with: oops'),
        ("addPod", 'running AddPod on PreFilter plugin "P": oops'),
        ("removePod", 'running RemovePod on PreFilter plugin "P": oops'),
    ],
)
def test_texts_are_kube_schedulers(point: str, text: str) -> None:
    failure = failed_at(point, "P", "oops")
    assert isinstance(failure, CycleError)
    assert isinstance(failure, StowplanError)
    assert str(failure) == failure.status.message == text
    assert (failure.status.code, failure.status.plugin) == (Code.Error, "P")


def test_scores_out_of_range() -> None:
    assert str(failed_at("weigh", "P", 101)) == (
        'applying score defaultWeights on Score plugins: plugin "P" returns an invalid score 101, '
        "it should in the range of [0, 100] after normalizing"
    )
