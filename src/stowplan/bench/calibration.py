"""How fast this machine is right now, so that rates from different machines and moments can be compared."""

from time import perf_counter

LOOPS = 10_000_000


def calibrate(loops: int = LOOPS) -> float:
    """Seconds that a bare loop of additions takes. Rates are stated for a machine where it takes one second."""
    total = 0
    begin = perf_counter()
    for i in range(loops):
        total += i
    return perf_counter() - begin
