"""The faults; each function injects one, waits, and ends it."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from os import kill

from tests.soak.surroundings import Surroundings

from stowplan.testing import Delay, Drop, Garble, Process, Reply, Rule

Fault = Callable[[Surroundings, random.Random], None]

BINDINGS = {"method": "POST", "path": "/binding$"}
ODD = b'{"type":"ADDED","object":{"spec":7}}\n'

RULES: dict[str, Callable[[], Rule]] = {
    "conflicts": lambda: Rule(Reply(409, "Conflict"), probability=0.3, **BINDINGS),
    "too many requests": lambda: Rule(Reply(429, "TooManyRequests", retry_after=1), probability=0.5),
    "internal errors": lambda: Rule(Reply(500, "InternalError"), probability=0.3),
    "unavailable": lambda: Rule(Reply(503, "ServiceUnavailable"), probability=0.5),
    "requests lost": lambda: Rule(Drop(), probability=0.3),
    "replies lost": lambda: Rule(Drop(forward=True), probability=0.3, watch=False),
    "slow replies": lambda: Rule(Delay(2.0), probability=0.3, watch=False),
    "replies that come too late": lambda: Rule(Delay(40.0), probability=0.05, **BINDINGS),
    "watches expired": lambda: Rule(Reply(410, "Expired"), probability=0.5, watch=True),
    "watches expired later": lambda: Rule(Reply(410, "Expired", in_watch=True), probability=0.5, watch=True),
    "malformed frames": lambda: Rule(Garble(after=2), probability=0.5, watch=True),
    "odd objects": lambda: Rule(Garble(ODD, after=2), probability=0.5, watch=True),
    "no lease": lambda: Rule(Drop(), path="/leases/"),
}


def _with_rule(make: Callable[[], Rule]) -> Fault:
    def happen(around: Surroundings, rng: random.Random) -> None:
        with around.proxy.rule(make()):
            if rng.random() < 0.5:
                around.proxy.cut_watches()
            time.sleep(rng.uniform(1, 6))

    return happen


def _victim(around: Surroundings, rng: random.Random) -> Process:
    around.keep_running()
    return rng.choice(around.replicas)


def killed(around: Surroundings, rng: random.Random) -> None:
    _down(around, rng, lambda replica: replica.kill())


def ended(around: Surroundings, rng: random.Random) -> None:
    _down(around, rng, lambda replica: replica.stop())


def _down(around: Surroundings, rng: random.Random, end: Callable[[Process], None]) -> None:
    replica = _victim(around, rng)
    around.stopped.add(replica.name)
    end(replica)
    time.sleep(rng.uniform(0, 3))
    around.stopped.discard(replica.name)


def all_killed(around: Surroundings, rng: random.Random) -> None:
    for replica in around.replicas:
        replica.kill()


def paused(around: Surroundings, rng: random.Random) -> None:
    """As by a hypervisor that has other things to do: time passes, and it does not notice."""
    replica = _victim(around, rng)
    kill(replica.pid, signal.SIGSTOP)
    time.sleep(rng.uniform(1, 8))
    if replica.alive:
        kill(replica.pid, signal.SIGCONT)


def server_away(around: Surroundings, rng: random.Random) -> None:
    around.control_plane.stop_api_server(kill=rng.random() < 0.5)
    time.sleep(rng.uniform(0, 10))
    around.control_plane.start_api_server()


def watches_cut(around: Surroundings, rng: random.Random) -> None:
    with around.proxy.cutting_watches(every=rng.uniform(0.3, 1.5)):
        time.sleep(rng.uniform(2, 6))


def connections_cut(around: Surroundings, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 5)):
        around.proxy.cut_connections()
        time.sleep(rng.uniform(0, 1))


FAULTS: dict[str, Fault] = {
    "killed": killed,
    "ended": ended,
    "all killed": all_killed,
    "paused": paused,
    "server away": server_away,
    "watches cut": watches_cut,
    "connections cut": connections_cut,
    **{name: _with_rule(make) for name, make in RULES.items()},
}
