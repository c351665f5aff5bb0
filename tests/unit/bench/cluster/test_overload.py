import json
from collections import Counter

from stowplan.bench.cluster.binding_watch import ObservedBinding
from stowplan.bench.cluster.overload import (
    OverloadFigures,
    OverloadReport,
    OverloadSize,
    delays_of,
    inversions_of,
    node_requests,
    pending_requests,
    running_requests,
)

SIZE = OverloadSize(nodes=3, pods=10, templates=5, ending_per_second=2, seconds=1)


def figures(cpu_share: float) -> OverloadFigures:
    return OverloadFigures(
        cpu_share=cpu_share,
        bound=10,
        freed=10,
        p50_ms=20.0,
        p99_ms=60.0,
        max_ms=80.0,
        inversions=0,
        attempts=5,
        rss_mib=80.0,
    )


def test_nodes_are_full_and_every_pending_pod_fits_a_freed_place() -> None:
    assert len(list(node_requests(SIZE))) == 3
    running = [json.loads(body)["spec"] for _, _, body in running_requests(SIZE)]
    assert Counter(spec["nodeName"] for spec in running) == {"node-0": 4, "node-1": 4, "node-2": 4}
    pending = [json.loads(body)["spec"] for _, _, body in pending_requests(SIZE)]
    assert Counter(spec["priority"] for spec in pending) == dict.fromkeys(range(5), 2)
    amounts = {int(spec["containers"][0]["resources"]["requests"]["cpu"][:-1]) for spec in pending}
    assert len(amounts) == 5
    assert max(amounts) == 1000


def test_delays_are_counted_by_node() -> None:
    freed = [(1.0, "a"), (2.0, "b"), (3.0, "a")]
    bindings = [
        ObservedBinding(2.5, "b", 0),
        ObservedBinding(1.25, "a", 0),
        ObservedBinding(4.0, "a", 0),
        ObservedBinding(5.0, "c", 0),
    ]
    assert list(delays_of(freed, bindings)) == [0.5, 0.25, 1.0]


def test_a_lower_priority_before_a_higher_one_is_an_inversion() -> None:
    assert inversions_of([4, 4, 3, 3, 2] * 1) == 0
    assert inversions_of([4, 3, 4] + [2] * 20) == 0, "sent at the same time"
    assert inversions_of([4, 1] + [3] * 20) == 1
    assert inversions_of([]) == 0


def test_report() -> None:
    report = OverloadReport(
        scenario="overload", size=SIZE, figures={"kube-scheduler": figures(1.0), "stowplan": figures(0.05)}
    )
    line = json.loads(report.to_json())
    assert line["nodes"] == 3
    assert line["ratios"]["cpu_share"] == 0.05
    assert OverloadReport(scenario="overload", size=SIZE, figures={"stowplan": figures(0.05)}).ratios == {}
