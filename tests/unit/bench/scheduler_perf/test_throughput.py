import json

from stowplan.bench.scheduler_perf.bound_pods import BoundPods
from stowplan.bench.scheduler_perf.throughput import ThroughputCollector, ThroughputSamples


def frame(kind: str, name: str, namespace: str, **labels: str) -> bytes:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return json.dumps({"type": kind, "object": {"metadata": metadata}}).encode() + b"\n"


def test_samples_are_taken_as_the_suite_does() -> None:
    samples = ThroughputSamples()
    for second, bound in enumerate([0, 0, 5, 25, 25, 25, 85, 85], 1):
        samples.tick(float(second), bound)
    # The tick with the first pods starts the measurement; two ticks without a pod extend the next sample to three.
    assert samples.values == [20.0, 20.0, 20.0, 20.0]
    assert samples.average == 20.0


def test_a_measurement_may_be_too_short() -> None:
    samples = ThroughputSamples()
    samples.tick(1.0, 10)
    samples.tick(2.0, 10)
    assert samples.average is None


def test_bound_pods_are_counted_by_namespace_and_labels() -> None:
    bound = BoundPods()
    bound.feed(frame("ADDED", "a", "one", colour="x") + frame("ADDED", "b", "one") + frame("ADDED", "c", "two"))
    bound.feed(frame("MODIFIED", "a", "one", colour="x") + frame("BOOKMARK", "", ""))
    assert bound.count("one", {}) == 2
    assert bound.count("one", {"colour": "x"}) == 1
    assert bound.bindings({"one", "two"}, {}) == (3, 3)
    bound.feed(frame("DELETED", "a", "one", colour="x") + frame("ADDED", "d", "two"))
    assert bound.count("one", {}) == 1
    assert bound.bindings({"one", "two"}, {}, 3) == (1, 4)
    assert bound.wait_for(lambda: bound.bindings({"two"}, {})[0] == 2, 0.0)


def test_a_collector_counts_the_pods_bound_in_its_time() -> None:
    bound = BoundPods()
    bound.feed(frame("ADDED", "before", "one"))
    collector = ThroughputCollector(bound, ["one"], {})
    bound.feed(frame("ADDED", "a", "one") + frame("ADDED", "b", "other"))
    collector.stop()
    assert (collector.before, collector.pods) == (1, 1)
