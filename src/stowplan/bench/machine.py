"""The machine that runs the benchmarks: its speed, and whether other processes are busy."""

import os
from pathlib import Path
from time import monotonic, perf_counter, sleep

CALIBRATION_LOOPS = 10_000_000
_STAT = Path("/proc/stat")
_QUIET_SHARE, _SAMPLE_SECONDS, _MAX_SAMPLES = 0.1, 0.5, 20


def calibrate(loops: int = CALIBRATION_LOOPS) -> float:
    """Seconds that a loop of additions takes. Rates are scaled to a machine on which it takes one second."""
    total = 0
    begin = perf_counter()
    for i in range(loops):
        total += i
    return perf_counter() - begin


def busy_seconds() -> float:
    """CPU time of all processes so far; 0 if the system does not report it."""
    if not _STAT.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq = map(int, _STAT.read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet() -> bool:
    """Wait, for at most ten seconds, until the machine is idle; whether it is."""
    for _ in range(_MAX_SAMPLES):
        busy, since = busy_seconds(), monotonic()
        sleep(_SAMPLE_SECONDS)
        if busy_seconds() - busy < _QUIET_SHARE * (os.cpu_count() or 1) * (monotonic() - since):
            return True
    return False
