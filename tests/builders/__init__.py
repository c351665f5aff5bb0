"""What tests are built from: objects, clusters, plugins, an engine's host, clocks.

- `objects`: JSON of nodes, pods and their parts; typed objects of any kind.
- `manifests`: objects as users write them.
- `world`: a cluster with profiles that decide about pods.
- `plugin_rig`: one in-tree plugin over a cluster.
- `engine_host`: an engine with an API server in memory.
- `clock`, `waiting`: time moved by hand, and conditions to wait for.
"""

from tests.builders.clock import Clock
from tests.builders.objects import (
    HOSTNAME,
    PREFERRED,
    REQUIRED,
    SCHEDULER,
    ZONE,
    Json,
    away,
    container,
    expressions,
    fields,
    make,
    member,
    near,
    node,
    node_affinity,
    only,
    pod,
    pod_group,
    profile_config,
    selector,
    spread,
    term,
    typed,
    weighted,
)
from tests.builders.waiting import until
from tests.builders.world import World

__all__ = [
    "HOSTNAME",
    "PREFERRED",
    "REQUIRED",
    "SCHEDULER",
    "ZONE",
    "Clock",
    "Json",
    "World",
    "away",
    "container",
    "expressions",
    "fields",
    "make",
    "member",
    "near",
    "node",
    "node_affinity",
    "only",
    "pod",
    "pod_group",
    "profile_config",
    "selector",
    "spread",
    "term",
    "typed",
    "until",
    "weighted",
]
