"""Gang scheduling in 25 lines: pods with the same label `gang` wait at Permit until `gang-size` of them have a node."""

from stowplan import CycleState, Plugin, Pod, Status, wait

TIMEOUT_SECONDS = 60.0


class Gang(Plugin):
    """Holds pods back until their gang is complete. The nodes of waiting pods are reserved meanwhile."""

    name = "Gang"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        gang, size = pod.labels.get("gang"), int(pod.labels.get("gang-size", "1"))
        if gang is None:
            return None
        waiting = [each for each in self.handle.waiting_pods() if each.pod.labels.get("gang") == gang]
        if len(waiting) + 1 < size:
            return wait(TIMEOUT_SECONDS, f"{len(waiting) + 1} of {size} pods of gang {gang} have a node")
        for each in waiting:
            each.allow(self.name)
        return None
