"""An engine in a cluster with random faults: requests that fail, answers that are late or lost, watches that lag,
plugins that hold pods back, and changes by others.

A walk is a list of steps, so that a failing walk can be printed, repeated and shortened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace
from tests.builders import only, profile_config
from tests.builders.engine_host import Host, configured
from tests.property.engine_vocabulary import NODE_NAMES, TAINT, node_of, object_of, pod_of
from tests.property.late_points_plugin import LatePointsPlugin
from tests.property.volume_controller import reconcile

from stowplan import api
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine.invariants import Overlooked, check, overlooked
from stowplan.framework import Bind, Call, Instruction, Pod, Request
from stowplan.queue.cluster_events import ASSIGNED_POD_DELETE
from stowplan.simulator.api_writes import MODIFIED, conflict, timed_out
from stowplan.simulator.simulation import call

Step = tuple[str, int, int]
"""The name of a step and two numbers that choose its object and variant; any numbers are valid."""

_MOST_ROUNDS = 4000
_WELL = 19
"""The luck of a request that is fulfilled, and answered at once."""
_FINISHED = ("Succeeded", "Failed")
_HELPED_BY_PODS = {"InterPodAffinity", "PodTopologySpread"}
_TOLERATION = api.Toleration(key="dedicated", operator="Exists")
_TAINT = api.Taint(**TAINT)


@lru_cache
def settings() -> KubeSchedulerConfiguration:
    everywhere = {"multiPoint": {"enabled": [{"name": LatePointsPlugin.name}]}}
    first_to_bind = only("bind", LatePointsPlugin.name, "DefaultBinder")
    return configured(profile_config({**everywhere, **first_to_bind}), {LatePointsPlugin.name: LatePointsPlugin})


class EngineWalk:
    """Interprets steps; every sequence of steps makes sense."""

    def __init__(self, grace: float = 0.0) -> None:
        self.host = Host(
            config=self.configuration(),
            plugins={LatePointsPlugin.name: lambda args, handle: LatePointsPlugin(args, handle, self)},
            grace=grace,
            max_namespace_share=0.25,
        )
        self.world, self.engine, self.state = self.host.world, self.host.engine, self.host.state
        self.at_ease = False
        """Whether everything goes well from now on, for the cluster to come to rest."""
        self.answers: list[tuple[Request, Any]] = []
        """Answers that are on their way."""
        self.binds: Counter[str] = Counter()
        """How often the API server bound each pod for the engine."""
        self._serial = 0
        self._released: dict[str, int] = {}
        """Nodes held by a nomination whose end was not reported: by node, the priority of the nominated pod."""
        self._nominated: dict[str, tuple[str, int]] = {}
        self._announced: set[str] = set()
        self._listen()

    def configuration(self) -> KubeSchedulerConfiguration:
        return settings()

    def step_of(self, name: str) -> Callable[[Any, int, int], None]:
        return STEPS[name][1]

    def take(self, step: Step) -> None:
        self.step_of(step[0])(self, step[1], step[2])
        self._note_releases()
        told = "; ".join(self.overlooked())
        assert not told, told

    # People and controllers
    def add_pod(self, shape: int, how: int) -> None:
        self._serial += 1
        self.world.put(pod_of(f"p{self._serial}", shape, NODE_NAMES[how % 5] if how % 8 == 0 else ""))

    def change_pod(self, which: int, how: int) -> None:
        """What may be changed of a pod: labels, more tolerations, fewer gates, less of a resource on a node."""
        pod = _pick(self._pods(), which)
        if pod is None:
            return
        if how % 4 == 0:
            labels = {**pod.metadata.labels, "app": "ab"[how // 4 % 2]}
            pod = replace(pod, metadata=replace(pod.metadata, labels=labels))
        elif how % 4 == 1 and _TOLERATION not in pod.spec.tolerations:
            pod = replace(pod, spec=replace(pod.spec, tolerations=(*pod.spec.tolerations, _TOLERATION)))
        elif how % 4 == 2:
            pod = replace(pod, spec=replace(pod.spec, scheduling_gates=()))
        elif pod.spec.node_name:
            pod = replace(pod, status=replace(pod.status, container_statuses=_SCALED_DOWN))
        self.world.put(pod)

    def end_pod(self, which: int, how: int) -> None:
        pod = _pick(self._pods(), which)
        if pod is None:
            return
        if how % 3 == 0 and pod.spec.node_name:
            self.world.put(replace(pod, status=replace(pod.status, phase="Succeeded")))
        elif how % 3 == 1 and pod.metadata.deletion_timestamp is None:
            # Something else holds on to it for a while.
            self.world.put(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=self.world.now())))
        else:
            self.world.delete(pod)

    def bind_elsewhere(self, which: int, how: int) -> None:
        """Somebody else binds a pod that is ours to bind."""
        pod = _pick([pod for pod in self._pods() if not pod.spec.node_name], which)
        if (
            pod is not None
            and how % 4 == 0
            and pod.metadata.deletion_timestamp is None
            and not pod.spec.scheduling_gates
        ):
            self.world.put(replace(pod, spec=replace(pod.spec, node_name=NODE_NAMES[how % 5])))

    def put_node(self, which: int, shape: int) -> None:
        self.world.put(node_of(NODE_NAMES[which % 5], shape))

    def change_node(self, which: int, how: int) -> None:
        node = _pick(list(self.world.all(api.Node)), which)
        if node is None:
            return
        if how % 4 == 0:
            node = replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable))
        elif how % 4 == 1:
            node = replace(node, spec=replace(node.spec, taints=() if node.spec.taints else (_TAINT,)))
        elif how % 4 == 2:
            allocatable = {**node.status.allocatable, "cpu": str(how // 4 % 4)}
            node = replace(node, status=replace(node.status, allocatable=allocatable))
        else:
            labels = {**node.metadata.labels, "disk": "ssd" if how // 4 % 2 else "hdd"}
            node = replace(node, metadata=replace(node.metadata, labels=labels))
        self.world.put(node)

    def remove_node(self, which: int, how: int) -> None:
        node = _pick(list(self.world.all(api.Node)), which)
        if node is not None and how % 2:
            self.world.delete(node)

    def collect(self, which: int = 0, how: int = 0) -> None:
        """Pods do not outlive their nodes for long."""
        for pod in self._pods():
            if pod.spec.node_name and self.world.get(api.Node, pod.spec.node_name) is None:
                self.world.delete(pod)

    def toggle_object(self, which: int, how: int) -> None:
        item = object_of(which)
        known = self.world.get(type(item), item.metadata.name, item.metadata.namespace)
        if known is None:
            self.world.put(item)
        elif how % 3 == 0:
            self.world.delete(known)

    def control_volumes(self, which: int, how: int) -> None:
        reconcile(self.world, provisioning_fails=how % 4 == 0)

    # The API server and the ways to it
    def carry_out(self, which: int, how: int) -> None:
        """Something that the engine wants done is done, or goes wrong."""
        self.host.take()
        instruction = _pick(self.host.open[:4], which)
        if instruction is None:
            return
        self.host.open.remove(instruction)
        outcome = self._outcome(instruction, _WELL if self.at_ease else how % 10)
        if isinstance(instruction, Request):
            self.answers.append((instruction, outcome))
            if how % 3:
                self.answer(len(self.answers) - 1, 0)

    def _outcome(self, instruction: Instruction, luck: int) -> Any:
        if isinstance(instruction, Call):
            return call(instruction.function)
        if isinstance(instruction, Request) and luck == 0:
            return conflict("pods/binding", "it", MODIFIED)
        if isinstance(instruction, Request) and luck == 1:
            return timed_out()
        outcome = self.world.execute(instruction)
        if isinstance(instruction, Bind) and outcome is None:
            self.binds[instruction.pod.uid] += 1
        return timed_out() if luck == 2 and isinstance(instruction, Request) else outcome

    def answer(self, which: int, how: int) -> None:
        if self.answers:
            self.engine.answer(*self.answers.pop(which % len(self.answers)))

    def tell(self, which: int, how: int) -> None:
        """Deliver an event of one watch; watches of different kinds are independent."""
        untold = self.host.undelivered
        untold += self.world.changes()
        for _ in range(how % 4 + 1):
            kinds = list(dict.fromkeys(type(change.item) for change in untold))
            if kinds:
                kind = kinds[which % len(kinds)]
                self.host.deliver_one(next(i for i, change in enumerate(untold) if type(change.item) is kind))

    # The engine
    def schedule(self, which: int, how: int) -> None:
        for _ in range(how % 3 + 1):
            self.engine.schedule_one()

    def charge(self, which: int, how: int) -> None:
        """The last cycle took long, so that other pods of the namespace may have to wait."""
        self.engine.charge((0.2, 3.0, 20.0)[which % 3])

    def pass_time(self, which: int, how: int) -> None:
        self.host.pass_time(self.host.clock.now + (0.4, 1.0, 2.5, 7.0, HALF_MINUTE, LONG)[which % 6])

    def settle(self, which: int, how: int) -> None:
        """For once all goes well, until nothing happens any more at this moment."""
        for _ in range(_MOST_ROUNDS):
            self.tell(0, 3)
            self.answer(0, 0)
            if self.host.take() or self.host.open:
                self.carry_out(0, _WELL)
            elif not self.host.undelivered and not self.answers and not self.engine.schedule_one():
                return

    def decide_waiting(self, which: int, how: int) -> None:
        waiting = _pick(list(self.engine.waiting_pods), which)
        if waiting is not None:
            if how % 3 == 0 and not self.at_ease:
                waiting.reject(LatePointsPlugin.name, "changed my mind")
            else:
                waiting.allow(LatePointsPlugin.name)

    # The end
    def come_to_rest(self) -> None:
        """Let everything go well until nothing happens any more."""
        self.at_ease = True
        version, idle = -1, 0
        for _ in range(_MOST_ROUNDS):
            if self._rest_of_the_moment():
                continue
            if self.world.version != version:
                version, idle = self.world.version, 0
            if not self._waits_for_time():
                return
            if idle > 6 and not self.engine.attempts and not any(self.state.queue.throttled):
                return  # Pods that fail with errors are tried for ever.
            idle += 1
            due = self.host.next_deadline()
            assert due is not None
            self.host.pass_time(due)
        raise AssertionError("the cluster does not come to rest")

    def _rest_of_the_moment(self) -> bool:
        self.host.undelivered += self.world.changes()
        if self.host.undelivered:
            self.host.deliver()
        elif self.answers:
            self.answer(0, 0)
        elif self.host.take() or self.host.open:
            self.carry_out(0, 1)
        elif len(self.engine.waiting_pods):
            self.decide_waiting(0, 1)
        elif not self.engine.schedule_one():
            version = self.world.version
            reconcile(self.world)
            self.collect()
            return version != self.world.version
        self._note_releases()
        return True

    def _waits_for_time(self) -> bool:
        return self.engine.waits_for_time or self.world.next_deadline() is not None

    def problems(self) -> list[str]:
        """What is wrong in a cluster at rest."""
        cluster, queue = self.engine.cluster, self.state.queue
        told = check(self.engine)
        told += [f"{uid} was bound {times} times" for uid, times in self.binds.items() if times > 1]
        for what, left in {
            "assumed": cluster.assumed,
            "attempts": self.engine.attempts,
            "waiting": list(self.engine.waiting_pods),
            "active": list(queue.active),
            "backing off": list(queue.backoff),
            "throttled": list(queue.throttled),
        }.items():
            if left:
                told.append(f"at rest, and yet {what}: {left}")
        alive = {pod.metadata.uid: pod for pod in self._pods()}
        bound = {uid: pod.spec.node_name for uid, pod in alive.items() if pod.spec.node_name}
        known = {uid: pod.node_name for uid, pod in cluster.pods.items()}
        if bound != known:
            told.append(f"pods are on nodes {bound}, the engine thinks {known}")
        if alive.keys() - bound.keys() != self.engine.pending.keys():
            told.append(f"pods {alive.keys() - bound.keys()} wait, the engine thinks {self.engine.pending.keys()}")
        return told + self.overlooked()

    def overlooked(self) -> list[str]:
        return [str(found) for found in overlooked(self.engine) if not self._is_excused(found)]

    def _is_excused(self, found: Overlooked) -> bool:
        """Whether kube-scheduler would let the pod wait as well:

        - it fits because of pods that are assumed: others hear of them when they are bound;
        - spreading does not count pods that are about to end: others hear of them when they are gone;
        - other pods' anti-affinity kept it away: its hint about nodes looks at the terms of the pod itself alone;
        - pods on a node that is gone count no longer: others hear of them when they are gone, too;
        - a pod turned out to be bound elsewhere than assumed: others hear of it when the attempt to bind it fails;
        - a nomination kept it away that ended without a word, as when the nominated pod went elsewhere.
        """
        rejectors, cluster = found.queued.unschedulable_plugins, self.engine.cluster
        if cluster.assumed and not _HELPED_BY_PODS.isdisjoint(rejectors):
            return True
        if "PodTopologySpread" in rejectors and any(pod.terminating for pod in cluster.pods.values()):
            return True
        if "InterPodAffinity" in rejectors and any(_repels(pod) for pod in cluster.pods.values()):
            return True
        if any(pod.node_name not in cluster.nodes.slot_of for pod in cluster.pods.values()):
            return True
        if any(uid in cluster.pods and uid not in cluster.assumed for uid in self.engine.attempts):
            return True
        return all(self._released.get(name, -(2**31)) >= found.queued.pod.priority for name in found.node_names)

    def _listen(self) -> None:
        """Record the events that reach pods when other pods end."""
        move = self.state.queue.move

        def overheard(event: Any, old: Any, new: Any, pre_check: Any = None) -> None:
            if event is ASSIGNED_POD_DELETE:
                self._announced.add(old.uid)
            move(event, old, new, pre_check)

        self.state.queue.move = overheard  # type: ignore[method-assign]

    def _note_releases(self) -> None:
        nominator = self.state.nominator
        if nominator.by_node or self._nominated:
            now = {uid: (name, pod.priority) for name, pods in nominator.by_node.items() for uid, pod in pods.items()}
            for uid, (name, priority) in self._nominated.items():
                there = self.engine.cluster.pods.get(uid)
                stays = now.get(uid, ("",))[0] == name or (there is not None and there.node_name == name)
                if not stays and uid not in self._announced:
                    self._released[name] = max(priority, self._released.get(name, priority))
            self._nominated = now
        self._announced.clear()

    def _pods(self) -> list[api.Pod]:
        return [pod for pod in self.world.all(api.Pod) if pod.status.phase not in _FINISHED]


HALF_MINUTE, LONG = 31.0, 301.0

_SCALED_DOWN = (
    api.ContainerStatus(
        name="c", resources=api.ResourceRequirements(requests={"cpu": "100m"}), allocated_resources={"cpu": "100m"}
    ),
)


def _repels(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and affinity.pod_anti_affinity is not None


def _pick(items: Any, which: int) -> Any:
    return items[which % len(items)] if items else None


STEPS: dict[str, tuple[int, Callable[[EngineWalk, int, int], None]]] = {
    "add pod": (14, EngineWalk.add_pod),
    "change pod": (4, EngineWalk.change_pod),
    "end pod": (5, EngineWalk.end_pod),
    "bind elsewhere": (1, EngineWalk.bind_elsewhere),
    "put node": (4, EngineWalk.put_node),
    "change node": (4, EngineWalk.change_node),
    "remove node": (1, EngineWalk.remove_node),
    "collect": (1, EngineWalk.collect),
    "toggle object": (6, EngineWalk.toggle_object),
    "control volumes": (4, EngineWalk.control_volumes),
    "carry out": (20, EngineWalk.carry_out),
    "answer": (6, EngineWalk.answer),
    "tell": (20, EngineWalk.tell),
    "schedule": (20, EngineWalk.schedule),
    "charge": (3, EngineWalk.charge),
    "pass time": (6, EngineWalk.pass_time),
    "decide waiting": (5, EngineWalk.decide_waiting),
    "settle": (2, EngineWalk.settle),
}
"""How often each step is taken by chance, and what it does."""
