import pytest

from stowplan.api import Taint, Toleration, find_untolerated, tolerated, tolerates
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

TAINT = Taint(key="k", value="5", effect=NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(key="k", value="5"), True),
        (Toleration(key="k", operator="Equal", value="5", effect=NO_SCHEDULE), True),
        (Toleration(key="k", value="6"), False),
        (Toleration(key="k"), False),
        (Toleration(key="other", value="5"), False),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(key="k", operator="Exists", effect=NO_EXECUTE), False),
        (Toleration(operator="Exists"), True),
        (Toleration(value="5"), True),
        (Toleration(key="k", operator="Gt", value="4"), False),
        (Toleration(key="k", operator="Lt", value="6"), False),
        (Toleration(key="k", operator="exists"), False),
    ],
)
def test_tolerates(toleration: Toleration, covers: bool) -> None:
    assert tolerates(toleration, TAINT) is covers
    assert tolerated(TAINT, (Toleration(key="unrelated"), toleration)) is covers


def test_find_untolerated_takes_the_first_with_an_effect_that_counts() -> None:
    soft = Taint(key="soft", effect=PREFER_NO_SCHEDULE)
    hard = Taint(key="hard", effect=NO_SCHEDULE)
    harder = Taint(key="harder", effect=NO_EXECUTE)
    taints = (soft, hard, harder)
    assert find_untolerated(taints, ()) is hard
    assert find_untolerated(taints, (Toleration(key="hard", operator="Exists"),)) is harder
    assert find_untolerated(taints, (Toleration(operator="Exists"),)) is None
    assert find_untolerated(taints, (), (PREFER_NO_SCHEDULE,)) is soft
    assert find_untolerated((), ()) is None
