"""Putting the objects of an input into a world: what stands already, then what is yet to be placed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.documents import Origin
from stowplan.simulator.manifests import refuse
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.pod_templates import find_template
from stowplan.simulator.workloads import MAKERS

_DEFAULT_GRACE = 30
_CLASSES = (api.PriorityClass, api.StorageClass)
"""What admission of other objects looks at."""


def populate(
    world: ApiServer,
    controllers: Controllers,
    objects: Iterable[tuple[Any, Origin]],
    standing: frozenset[str] = frozenset(),
) -> None:
    """Put in all objects, and make what workloads lack. What is pending keeps the order of the input.

    Objects that stand in a cluster, given by uid, are taken as they are: they need no admission, and workloads among
    them have the pods that they want. Pods that are finished take no part. An InputError tells what an API server would
    have refused, a line each.
    """
    controllers.content(standing)
    alive = [each for each in objects if not (isinstance(each[0], api.Pod) and is_finished(each[0]))]
    problems: list[str] = []
    alive.sort(key=lambda each: not isinstance(each[0], _CLASSES))
    items: list[Any] = []
    for given, origin in alive:
        is_standing = given.metadata.uid in standing
        try:
            item = given if is_standing else _admit(controllers, given)
        except InputError as problem:
            problems.append(origin.tell(str(problem)))
        else:
            items.append(_stand(world, item) if is_standing or _stands(item) else item)
    refuse(problems)
    _add_namespaces(world, controllers, items)
    for item in items:
        if item.metadata.uid in standing:
            continue
        stored = item if _stands(item) else world.put(item)
        if type(stored) in MAKERS:
            controllers.expand(stored)


def _admit(controllers: Controllers, item: Any) -> Any:
    if type(item) in MAKERS and (found := find_template(item)) is not None:
        controllers.admission.admit_spec(found.template.spec, f"${found.path}.spec")
    return controllers.admission.admit(item)


def _stands(item: Any) -> bool:
    """Whether an object is there before anything is placed: all but pods and workloads that stand on their own."""
    if isinstance(item, api.Pod):
        return bool(item.spec.node_name) or controller_of(item) is not None
    return type(item) not in MAKERS or controller_of(item) is not None


def _stand(world: ApiServer, item: Any) -> Any:
    stored = world.put(item)
    if isinstance(stored, api.Pod) and stored.metadata.deletion_timestamp is not None:
        # Whoever is on the way out when a snapshot is taken will have left before long.
        grace = stored.spec.termination_grace_period_seconds
        world.at(world.clock() + (_DEFAULT_GRACE if grace is None else grace), partial(world.finish, stored))
    return stored


def _add_namespaces(world: ApiServer, controllers: Controllers, items: list[Any]) -> None:
    for name in dict.fromkeys(item.metadata.namespace for item in items):
        if name and world.get(api.Namespace, name) is None:
            world.put(controllers.admission.admit(api.Namespace(metadata=api.ObjectMeta(name=name))))
