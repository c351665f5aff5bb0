"""The four verbs of a scheduler extender, from request bytes to reply bytes, independent of the transport.

Belongs here: one module for each verb, which verbs plugins serve, running plugins on the nodes of a request, validity
of replies, the failure policy, deadlines, and per-pod state between requests. Does not belong here: HTTP, TLS, metrics,
files, requests to an API server. May import `extender.wire`, `runtime` and the rooms below it.

A transport calls `Handlers.answer`: it calls `answer(state, call)` of the verb's module on a thread, which runs the
plugins through `runtime.out_of_tree.plugin_runner`. An informer cache changes its cluster through `Handlers.apply`.
"""

from stowplan.extender.handlers.exclusive import Change
from stowplan.extender.handlers.group_member import GroupMember
from stowplan.extender.handlers.handler_state import ClusterCache, ReservationPort
from stowplan.extender.handlers.handlers import Handlers
from stowplan.extender.handlers.verb_call import VERBS, CallFacts, Verb, VerbReply

__all__ = [
    "VERBS",
    "CallFacts",
    "Change",
    "ClusterCache",
    "GroupMember",
    "Handlers",
    "ReservationPort",
    "Verb",
    "VerbReply",
]
