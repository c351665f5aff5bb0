"""When the garbage collector runs in a scheduler."""

from stowplan.runtime.gc_tuning import MAX_BUSY_SECONDS, MIN_COLLECTION_INTERVAL_SECONDS, IdleCollector


class Collections:
    """Each collection takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.number = 0
        self._seconds = seconds
        self.freed = 0
        self.cpu = 0.0
        self.collector = IdleCollector(self._free_unused, lambda: self.now, lambda: self.cpu, self._collect)

    def _free_unused(self) -> None:
        self.freed += 1

    def _collect(self) -> None:
        self.number += 1
        self.cpu += self._seconds
        self.now += 10 * self._seconds  # Other processes run meanwhile.

    def after(self, seconds: float, *, idle: bool) -> int:
        """The number of collections, once so many seconds have passed."""
        self.now += seconds
        self.collector.run(idle=idle)
        return self.number


def test_all_generations_are_collected_in_an_idle_moment() -> None:
    collections = Collections(0.01)
    assert collections.after(MIN_COLLECTION_INTERVAL_SECONDS - 1, idle=True) == 0
    assert collections.after(1, idle=False) == 0
    assert collections.after(0, idle=True) == 1
    assert collections.after(1, idle=True) == 1
    assert collections.after(MIN_COLLECTION_INTERVAL_SECONDS, idle=True) == 2
    assert collections.freed == 2


def test_a_process_that_is_never_idle_is_interrupted() -> None:
    collections = Collections(0.01)
    assert collections.after(MIN_COLLECTION_INTERVAL_SECONDS + MAX_BUSY_SECONDS - 1, idle=False) == 0
    assert collections.after(1, idle=False) == 1


def test_long_collections_are_rare() -> None:
    collections = Collections(2.0)
    assert collections.after(MIN_COLLECTION_INTERVAL_SECONDS, idle=True) == 1
    assert collections.after(999, idle=True) == 1
    assert collections.after(1, idle=True) == 2
