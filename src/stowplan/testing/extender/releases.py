"""Groups of kube-scheduler releases that differ in the extender protocol."""

from __future__ import annotations

from dataclasses import dataclass

CURRENT, NEWER = "v1.36", "newer"


@dataclass(frozen=True)
class KubeSchedulerRelease:
    """A release that represents a group. `minor` is its minor version."""

    name: str
    minor: int

    @property
    def lower_case(self) -> bool:
        """Whether requests have lower-case keys. Later releases send the names of the Go fields."""
        return self.minor <= 5

    @property
    def version_in_path(self) -> bool:
        """Whether `v1` stands between the prefix and the verb."""
        return self.minor <= 5

    @property
    def trims_prefix(self) -> bool:
        return self.minor >= 8

    @property
    def sends_names(self) -> bool:
        """Whether nodeCacheCapable is supported. Earlier releases always send whole nodes."""
        return self.minor >= 6

    @property
    def checks_status(self) -> bool:
        return self.minor >= 7

    @property
    def binds(self) -> bool:
        return self.minor >= 7

    @property
    def preempts(self) -> bool:
        return self.minor >= 11

    @property
    def rejects_unknown_names(self) -> bool:
        """Whether a name that is not in the request is an error. Earlier releases crash: nil pointer."""
        return self.minor >= 16

    @property
    def scale(self) -> int:
        """Factor of scores in addition to the weight."""
        return 10 if self.minor >= 17 else 1

    @property
    def knows_unresolvable(self) -> bool:
        return self.minor >= 21

    @property
    def preempts_on_unlisted_nodes(self) -> bool:
        """Whether preemption considers nodes that are in no list of the reply."""
        return self.minor <= 22

    @property
    def keeps_violations(self) -> bool:
        """Whether NumPDBViolations of a reply counts."""
        return self.minor >= 24

    @property
    def allows_no_victims(self) -> bool:
        """Whether candidates may be nodes without victims. Requests contain such nodes, too."""
        return self.minor >= 37

    @property
    def rejects_no_victims(self) -> bool:
        """Whether an empty list of victims is an error. Earlier releases crash: index out of range."""
        return self.minor >= 22

    def may_ignore(self, verb: str) -> bool:
        """Whether a failure of this verb is ignored if the extender is ignorable."""
        return self.minor >= {"filter": 11, "preempt": 11, "bind": 30}.get(verb, 0)


RELEASES: dict[str, KubeSchedulerRelease] = {
    release.name: release
    for release in (
        KubeSchedulerRelease("v1.5", 5),
        KubeSchedulerRelease("v1.10", 10),
        KubeSchedulerRelease("v1.15", 15),
        KubeSchedulerRelease("v1.20", 20),
        KubeSchedulerRelease("v1.29", 29),
        KubeSchedulerRelease(CURRENT, 36),
        KubeSchedulerRelease(NEWER, 37),
    )
}
