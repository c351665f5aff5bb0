"""Measures the page of a scheduler with viewers: 5,000 nodes, 50,000 pods, ten viewers, 2,000 changed pods a second.

    python benchmarks/page_viewers.py

The engine is fed as reflectors would do it. Viewers load all initial data in a process of their own, and read the
stream. Printed are the memory before and with viewers, the bytes of the initial data, and the longest slice and the
share of the engine's thread that the page takes.
"""

from __future__ import annotations

import gc
import gzip
import json
import multiprocessing
import random
import socket
import sys
import time
import urllib.request
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from live_explain import attempt, objects, pod, say
from stowplan.config.defaults import default_configuration
from stowplan.config.options import ServingOptions
from stowplan.engine import Engine
from stowplan.insight.insight import Insight
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.plugins.registry import REGISTRY
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.scheduler.web_source import LiveOwner, live_source
from stowplan.serving.listening import listen
from stowplan.serving.pages import Pages
from stowplan.web.access import PageAccess
from stowplan.web.assets import add_asset_pages, read_assets
from stowplan.web.routes import add_data_pages
from stowplan.web.server import WebServer
from stowplan.web.stream import StreamHub

INITIAL = ("hello", "map", "pending", "queue", "config", "pods", "pods?names")
CHANGED_PODS_PER_SECOND = 2000
_TICK_SECONDS = 0.05


def resident_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def view(port: int, token: str, seconds: float, results: Any) -> None:
    """One viewer: loads everything, then reads the stream."""
    sizes: dict[str, int] = {}
    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
    began, epoch, revision = time.monotonic(), "", 0
    for path in INITIAL:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=120) as reply:
            body = reply.read()
            sizes[path] = len(body)
            if path == "map":
                found = json.loads(gzip.decompress(body))
                epoch, revision = found["epoch"], found["revision"]
    loaded = time.monotonic() - began
    received = 0
    with socket.create_connection(("127.0.0.1", port)) as stream:
        request_line = f"GET /api/v1/events?since={epoch}-{revision}&pods=1 HTTP/1.1\r\n"
        stream.sendall(f"{request_line}Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        stream.settimeout(60)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            received += len(stream.recv(1 << 16))
    results.put((sizes, loaded, received / seconds))


class Loop:
    """The scheduling loop: changes of pods, and slices of answers."""

    def __init__(self, engine: Engine, answers: Answers, nodes: int) -> None:
        self._engine, self._answers, self._nodes = engine, answers, nodes
        self._rng = random.Random(1)
        self._pods: list[Any] = []
        self._number = 0
        self.answering = self.longest = 0.0

    def run(self, seconds: float) -> None:
        until, due = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < until:
            if time.monotonic() >= due:
                due += _TICK_SECONDS
                self._change(int(CHANGED_PODS_PER_SECOND * _TICK_SECONDS))
            began = time.thread_time()
            self._answers.run_slice(busy=True)
            spent = time.thread_time() - began
            self.answering += spent
            self.longest = max(self.longest, spent)
            time.sleep(0.001)

    def _change(self, count: int) -> None:
        for _ in range(count // 2):
            self._number += 1
            on = f"node-{self._rng.randrange(self._nodes):05}"
            made = pod(f"new-{self._number}", on, "10m", f"app-{self._number % 400}", {})
            self._pods.append(made)
            self._engine.put(made)
        for _ in range(count - count // 2):
            if len(self._pods) > CHANGED_PODS_PER_SECOND:
                self._engine.remove(self._pods.pop(0))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    clock = time.monotonic
    engine = Engine(default_configuration(), REGISTRY, clock=clock, rng=random.Random(0))
    for item in objects(options.nodes, options.pods):
        engine.put(item)
    attempt(engine)
    answers = Answers(engine, lambda: None)
    insight = Insight(engine, clock, time.time, last_message=last_message(engine), running=True)
    live = LiveInsight(insight, engine, answers, lambda: True)
    metrics = SchedulerMetrics(MetricRegistry())
    source = live_source(engine, insight, LiveOwner(answers, lambda: True), live, default_configuration(), metrics)
    pages = Pages()
    add_data_pages(pages, source)
    add_asset_pages(pages, read_assets())
    listener = listen(ServingOptions(address="127.0.0.1", port=0))
    access = PageAccess("127.0.0.1", listener.getsockname()[1])
    server = WebServer(listener, pages, StreamHub(source).respond, access)
    server.start()
    loop = Loop(engine, answers, options.nodes)
    loop.run(3)
    gc.collect()
    before = resident_mib()
    loop.answering = loop.longest = 0.0
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    arguments = (listener.getsockname()[1], access.token, options.seconds, results)
    viewers = [context.Process(target=view, args=arguments) for _ in range(options.viewers)]
    for viewer in viewers:
        viewer.start()
    began, peak = time.monotonic(), before
    found: list[Any] = []
    while len(found) < len(viewers):
        loop.run(1)
        peak = max(peak, resident_mib())
        while not results.empty():
            found.append(results.get())
    wall = time.monotonic() - began
    after = resident_mib()
    sizes, loaded, rate = max(found, key=lambda each: each[1])
    say(
        f"memory: {before:.0f} MiB before, {peak:.0f} MiB at most, {after:.0f} MiB with {len(found)} viewers "
        f"({(peak / before - 1) * 100:+.1f} % at most)"
    )
    say(
        "compressed bytes: "
        + ", ".join(f"{path} {size:,}" for path, size in sizes.items())
        + f"; {sum(sizes.values()):,} in all"
    )
    say(f"loaded in {loaded:.1f} s (slowest viewer); stream {rate / 1024:.0f} kB/s a viewer")
    share, longest = loop.answering / wall * 100, loop.longest * 1000
    say(f"engine's thread: {share:.2f} % of {wall:.0f} s, longest slice {longest:.2f} ms")
    server.stop()


if __name__ == "__main__":
    main()
