"""A lean HTTP/1.1 client for writes, where the scheduler's own CPU per request counts.

Belongs here: kept-alive connections with one request on each at a time, their pool, and what HTTP says about requests
that fail, are refused for now, or get lost. Requests and replies are bytes, outcomes are method calls on the loop's
thread: no task, no future and no timer for each request.
Does not belong here: what is written and what a reply means (`stowplan.cluster`), and reading: lists and watches go
through a general client.
May import: `stowplan.cluster`'s connection, rate and errors, and `errors`.
"""

from stowplan.cluster.write_client.write_request import JSON, ClosedError, NotLeaderError, TimedOutError, WriteRequest
from stowplan.cluster.write_client.writer import CONNECTIONS, Observe, Writer

__all__ = ["CONNECTIONS", "JSON", "ClosedError", "NotLeaderError", "Observe", "TimedOutError", "WriteRequest", "Writer"]
