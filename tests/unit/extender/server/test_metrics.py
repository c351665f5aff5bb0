from tests.unit.extender.server.fakes import reply

from stowplan import api
from stowplan.api.kinds import KINDS
from stowplan.extender.informer_cache import InformerCache
from stowplan.extender.reservations import ReservationBook, Reservations
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.framework import Plugin
from stowplan.observe.registry import MetricRegistry
from stowplan.testing.kube_scheduler import parse_samples


def scraped(metrics: ServerMetrics) -> dict[str, float]:
    return parse_samples(metrics.registry.expose().decode())


def test_what_is_counted_of_an_answer() -> None:
    metrics = ServerMetrics(MetricRegistry())
    facts = reply(
        "filter",
        b"{}",
        nodes_in=10,
        nodes_out=7,
        rejects={"too small": 2, "too hot": 1},
        plugin_seconds={"Mine": 0.25},
        error="late",
        abandoned=True,
    ).facts
    metrics.answered(facts, 200, 0.3, 30_000_000, 1_000)
    told = scraped(metrics)
    prefix = "stowplan_extender_"
    assert told[prefix + 'requests_total{code="200",verb="filter"}'] == 1
    assert told[prefix + 'request_duration_seconds_sum{verb="filter"}'] == 0.3
    assert told[prefix + 'plugin_duration_seconds_sum{plugin="Mine",verb="filter"}'] == 0.25
    assert told[prefix + 'request_size_bytes_sum{verb="filter"}'] == 30_000_000
    assert told[prefix + 'reply_size_bytes_sum{verb="filter"}'] == 1_000
    assert told[prefix + 'nodes_received_total{verb="filter"}'] == 10
    assert told[prefix + 'nodes_returned_total{verb="filter"}'] == 7
    assert told[prefix + 'rejected_nodes_total{reason="too small",verb="filter"}'] == 2
    assert told[prefix + 'errors_total{verb="filter"}'] == 1
    assert told[prefix + 'overdue_total{verb="filter"}'] == 1
    assert told[prefix + 'errors_total{verb="bind"}'] == 0


def test_reasons_without_number_become_one() -> None:
    metrics = ServerMetrics(MetricRegistry())
    for number in range(150):
        metrics.answered(reply("filter", b"", rejects={f"{number} GPUs short": 1}).facts, 200, 0.1, 1, 1)
    told = [name for name in scraped(metrics) if "rejected_nodes" in name]
    assert len(told) == 101
    assert scraped(metrics)['stowplan_extender_rejected_nodes_total{reason="other",verb="filter"}'] == 50


def test_the_state_behind_the_answers() -> None:
    class Keeper(Plugin):
        name = "Keeper"
        held = Reservations[int]()

    keeper, reservations, now = Keeper(None, None), ReservationBook(), 1.0  # type: ignore[arg-type]
    keeper.held = Keeper.held
    reservations.adopt(keeper)
    keeper.held.reserve("a", "n1", 1)
    cache = InformerCache(clock=lambda: now)
    metrics = ServerMetrics(MetricRegistry())
    metrics.watch(cache, reservations, lambda: 2)
    assert "stowplan_extender_cache_age_seconds" not in scraped(metrics)
    cache.put(KINDS["Node"], [(api.Node(metadata=api.ObjectMeta(name="n1")), None)])
    now = 4.5
    told = scraped(metrics)
    assert told["stowplan_extender_cache_age_seconds"] == 3.5
    assert told["stowplan_extender_cache_nodes"] == 1
    assert told["stowplan_extender_stuck_calls"] == 2
    assert told["stowplan_extender_cache_synced"] == 0
    assert told['stowplan_extender_reservations{plugin="Keeper"}'] == 1
    reservations.bound("a")
    assert scraped(metrics)['stowplan_extender_reservations_ended_total{how="confirmed",plugin="Keeper"}'] == 1
