"""A process with one server of pages, for tests of its limits: prints its port, ends with its standard input.

Arguments: `secure` or `insecure`; the limit of open files, soft and hard; the maximum number of connections, 0 for the
default.
"""

from __future__ import annotations

import resource
import sys

from stowplan import logs
from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.health import PING, HealthMetrics, HealthPage
from stowplan.observe.registry import MetricRegistry
from stowplan.serving import ComponentPages, InsecureServer, SecureServer, Sources, listen
from stowplan.serving.connections import ConnectionLimits


def main(kind: str, open_files: int, max_connections: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    logs.configure(logs.LogOptions())
    health, registry = HealthMetrics(), MetricRegistry()
    page = HealthPage("healthz", [PING], health.on_check)
    pages = ComponentPages(Sources(registry, health, (page,), {}, {}))
    limits = ConnectionLimits(max_connections) if max_connections else None
    options = ServingOptions(address="127.0.0.1", port=0)
    server: SecureServer | InsecureServer
    if kind == "secure":
        server = SecureServer(options, AccessOptions(), pages, AccessMetrics(registry), limits=limits)
        server.start()
        port = server.port
    else:
        listener = listen(options)
        port = listener.getsockname()[1]
        server = InsecureServer({listener: pages}, limits=limits)
        server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
