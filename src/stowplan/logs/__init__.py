"""Structured log lines in the formats of Kubernetes' components: klog text and JSON.

Belongs here: the logger that every module uses, verbosity and `--vmodule`, both formats, the bridge from Python's
`logging`.
Does not belong here: the words of a line; the module that knows the event writes them.
May import: `errors`. Every other room may import this one; no other room calls `logging.getLogger`.

Upstream: k8s.io/klog/v2, k8s.io/component-base/logs

    log = logs.get(__name__)
    log.warning("Watch ended", kind="Pod", err=problem)
"""

from stowplan.logs.format import ObjectRef, quote, ref
from stowplan.logs.log import (
    FORMATS,
    Log,
    LogOptions,
    configure,
    get,
    keep_errors_only,
    leave_out,
    parse_vmodule,
    set_verbosity,
    stack_trace,
    unconfigure,
)
from stowplan.logs.repeated import RepeatedWarning

__all__ = [
    "FORMATS",
    "Log",
    "LogOptions",
    "ObjectRef",
    "RepeatedWarning",
    "configure",
    "get",
    "keep_errors_only",
    "leave_out",
    "parse_vmodule",
    "quote",
    "ref",
    "set_verbosity",
    "stack_trace",
    "unconfigure",
]
