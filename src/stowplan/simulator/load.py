"""Loads the objects of an input into the API server: existing objects first, then those to be scheduled."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.reading import refuse
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.workloads import CONTROLLERS, find_template

_GRACE_SECONDS = 30
_CLASSES = (api.PriorityClass, api.StorageClass, api.LimitRange, api.ResourceQuota)
"""Kinds that admission of other objects reads."""


def populate(
    api_server: ApiServer,
    controllers: Controllers,
    objects: Iterable[tuple[Any, Origin]],
    preexisting: frozenset[str] = frozenset(),
    assumed_owners: frozenset[str] = frozenset(),
) -> None:
    """Store all objects and create the objects that workloads lack. Pending pods keep the order of the input.

    `preexisting` are the uids of objects that bypass admission; workloads among them have the pods that they want.
    `assumed_owners` are the uids of controllers that recreate pods. Finished pods are skipped. Raises InputError, one
    line for each object that the API server would reject.
    """
    controllers.keep(preexisting)
    api_server.assumed_owners = assumed_owners
    alive = [each for each in objects if not (isinstance(each[0], api.Pod) and is_finished(each[0]))]
    problems: list[str] = []
    alive.sort(key=lambda each: not isinstance(each[0], _CLASSES))
    items: list[Any] = []
    for given, origin in alive:
        is_preexisting = given.metadata.uid in preexisting
        try:
            item = given if is_preexisting else _admit(controllers, given)
        except InputError as problem:
            problems.append(origin.locate(str(problem)))
        else:
            items.append(_stand(api_server, item) if is_preexisting or _stands(item) else item)
    refuse(problems)
    _add_namespaces(api_server, controllers, items)
    for item in items:
        if item.metadata.uid in preexisting:
            continue
        if isinstance(item, api.Pod) and not item.metadata.resource_version and not _stands(item):
            controllers.create_pod(item)
            continue
        stored = item if _stands(item) else api_server.put(item)
        if type(stored) in CONTROLLERS:
            controllers.expand(stored)


def _admit(controllers: Controllers, item: Any) -> Any:
    if type(item) in CONTROLLERS and (found := find_template(item)) is not None:
        controllers.admission.admit_spec(found.template.spec, f"${found.path}.spec")
    return controllers.admission.admit(item)


def _stands(item: Any) -> bool:
    """Whether the object exists before scheduling starts: all but pending pods and workloads without a controller."""
    if isinstance(item, api.Pod):
        return bool(item.spec.node_name) or controller_of(item) is not None
    return type(item) not in CONTROLLERS or controller_of(item) is not None


def _stand(api_server: ApiServer, item: Any) -> Any:
    stored = api_server.put(item)
    if isinstance(stored, api.Pod) and stored.metadata.deletion_timestamp is not None:
        # A pod that terminated when the snapshot was taken ends after its grace period.
        grace = stored.spec.termination_grace_period_seconds
        api_server.at(
            api_server.clock() + (_GRACE_SECONDS if grace is None else grace),
            partial(api_server.finish, stored),
        )
    return stored


def _add_namespaces(api_server: ApiServer, controllers: Controllers, items: list[Any]) -> None:
    for name in dict.fromkeys(item.metadata.namespace for item in items):
        if name and api_server.get(api.Namespace, name) is None:
            api_server.put(controllers.admission.admit(api.Namespace(metadata=api.ObjectMeta(name=name))))
