from stowplan.evaluation.verdict import verdict_of
from stowplan.framework import (
    CandidateRecord,
    DecisionRecord,
    PluginScore,
    PreemptionRecord,
    Rejection,
)


def test_only_what_applies_is_there() -> None:
    assert verdict_of(DecisionRecord(pod="ns/p")) == {"feasible": ()}


def test_everything_at_once() -> None:
    no = Rejection("Unschedulable", "P", ("a", "b"))
    record = DecisionRecord(
        pod="ns/p",
        pre_filter_nodes=("n", "m"),
        rejected={"m": no},
        feasible=("n",),
        scores={"n": {"P": PluginScore(raw=5.5, normalized=50, weighted=100)}},
        totals={"n": 100},
        message="text",
        preemption=PreemptionRecord(candidates=(CandidateRecord("m", ("ns/v",), 1),), tied=("m",), chosen="m"),
    )
    told = verdict_of(record)
    assert told["preFilterNodes"] == ("n", "m")
    assert told["filter"] == {"m": {"code": "Unschedulable", "plugin": "P", "reasons": ("a", "b")}}
    assert told["scores"] == {"n": {"P": 100}}
    assert (told["total"], told["feasible"], told["message"]) == ({"n": 100}, ("n",), "text")
    assert told["preemptionCandidates"] == ({"node": "m", "victims": ("ns/v",), "pdbViolations": 1},)
    assert told["preemptionSelected"] == ("m",)


def test_rejections_of_the_pod() -> None:
    no = Rejection("UnschedulableAndUnresolvable", "P", ("a",))
    told = verdict_of(DecisionRecord(pod="ns/p", pre_filter=no))
    assert told["preFilter"] == {"code": "UnschedulableAndUnresolvable", "plugin": "P", "reasons": ("a",)}
    assert verdict_of(DecisionRecord(pod="ns/p", pre_enqueue=no))["preEnqueue"]["plugin"] == "P"
