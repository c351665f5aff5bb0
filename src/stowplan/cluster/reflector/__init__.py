"""Reflectors: list and watch one kind and deliver its objects to a sink.

Belongs here: lists in pages, watches, resuming and relisting, and the decoding of objects.
Does not belong here: the handling of objects.
May import: `client`, `wire`, `retry`, `errors` of `cluster`; `api`, `logs`.

Upstream: k8s.io/client-go/tools/cache/reflector.go
"""

from stowplan.cluster.reflector.reflector import UNFINISHED_PODS, EventSink, Reflector
from stowplan.cluster.reflector.watch_frames import Item
from stowplan.cluster.reflector.watched_kinds import REQUIRED_KINDS, watched_kinds

__all__ = ["REQUIRED_KINDS", "UNFINISHED_PODS", "EventSink", "Item", "Reflector", "watched_kinds"]
