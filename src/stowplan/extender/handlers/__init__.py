"""Requests in, replies out, as bytes: what an extender answers, whatever carries the messages.

Belongs here: which verbs plugins serve, running them on the nodes of a request, the guard that makes a wrong reply
impossible, which plugin is for which pods, what is answered where plugins fail or take too long, and what one request
leaves for the next. Does not belong here: HTTP, TLS, metrics, files, talking to an API server. May import
`extender.wire`, `runtime` and what is below it.

`Handlers.answer` is what a transport calls; `Handlers.apply` is how a cache of the cluster is kept up to date.
"""

from stowplan.extender.handlers.exclusive import OutOfTimeError
from stowplan.extender.handlers.handlers import Handlers
from stowplan.extender.handlers.policy import EVERYBODY, GroupMember, OnFailure, OperatorPolicy, PodSelection
from stowplan.extender.handlers.ports import Change, ClusterCache, ReservationPort
from stowplan.extender.handlers.reply import VERBS, CallFacts, Verb, VerbReply

__all__ = [
    "EVERYBODY",
    "VERBS",
    "CallFacts",
    "Change",
    "ClusterCache",
    "GroupMember",
    "Handlers",
    "OnFailure",
    "OperatorPolicy",
    "OutOfTimeError",
    "PodSelection",
    "ReservationPort",
    "Verb",
    "VerbReply",
]
