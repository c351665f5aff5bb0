"""The machine that all of it runs on."""

import os
from pathlib import Path
from time import monotonic, sleep

_STAT = Path("/proc/stat")
_QUIET_SHARE, _LOOK_SECONDS, _LOOKS = 0.1, 0.5, 20


def busy_seconds() -> float:
    """The CPU time that all processes together have used so far; 0 where the system does not tell."""
    if not _STAT.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq = map(int, _STAT.read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet() -> bool:
    """Wait until the machine has little to do, though not for ever; whether it has."""
    for _ in range(_LOOKS):
        busy, since = busy_seconds(), monotonic()
        sleep(_LOOK_SECONDS)
        if busy_seconds() - busy < _QUIET_SHARE * (os.cpu_count() or 1) * (monotonic() - since):
            return True
    return False
