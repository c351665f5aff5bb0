"""HTTP/1.1 client for writes, where the scheduler's CPU time per request limits its throughput.

Belongs here: kept-alive connections with one request at a time, their pool, the queue of requests, and retries that
HTTP permits. Requests and replies are bytes, outcomes are method calls on the loop's thread: no task, no future and
no timer per request.
Does not belong here: what is written and what a reply means (`cluster.wire`, `cluster.writes`), and reading: lists and
watches use `cluster.client`.
May import: `cluster`'s connection, dial, rate limit and errors, and `errors`.

Reason for a client of its own: a binding costs 75 µs with aiohttp's client, about 5 µs with this one.
"""

from stowplan.cluster.write_client.write_request import JSON, ClosedError, NotLeaderError, TimedOutError, WriteRequest
from stowplan.cluster.write_client.writer import MAX_CONNECTIONS, Observe, Writer

__all__ = [
    "JSON",
    "MAX_CONNECTIONS",
    "ClosedError",
    "NotLeaderError",
    "Observe",
    "TimedOutError",
    "WriteRequest",
    "Writer",
]
