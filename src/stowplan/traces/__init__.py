"""Workload traces: loaders that turn files of published traces into nodes and arrivals of pods.

Belongs here: the records (`TraceNode`, `Arrival`), one loader for each format, the reading of their files (`rows`),
the options that all loaders share (`selection`), the API objects of records (`objects`), the files of recorded
clusters (`cluster_recording`), and files that only their owner reads (`private_files`). A loader is a small class,
`TraceLoader`; users can write their own (`user_loaders`).
Does not belong here: time, scheduling and results (`simulator`, `study`), downloads: files are given by the user.
May import: `api` and `errors`.
"""

from stowplan.traces.loader import TraceLoader, TraceSummary
from stowplan.traces.objects import TraceObjects
from stowplan.traces.records import Arrival, TraceNode
from stowplan.traces.rows import Row, find_file, read_lines, read_rows
from stowplan.traces.selection import TraceSelection
from stowplan.traces.table import LOADERS, open_trace

__all__ = [
    "LOADERS",
    "Arrival",
    "Row",
    "TraceLoader",
    "TraceNode",
    "TraceObjects",
    "TraceSelection",
    "TraceSummary",
    "find_file",
    "open_trace",
    "read_lines",
    "read_rows",
]
