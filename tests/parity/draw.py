"""Random choices, and the few labels and names that they are made among, so that things collide."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tests.builders import HOSTNAME, ZONE, Json, selector

T = TypeVar("T")

REGION = "topology.kubernetes.io/region"
RACK = "rack"
TOPOLOGY_KEYS = (ZONE, ZONE, HOSTNAME, HOSTNAME, REGION, RACK)
ZONES = ("zone-a", "zone-b", "zone-c")
APPS = ("web", "db", "cache", "batch")
COLORS = ("red", "green", "blue")
REVISIONS = ("1", "2")
HOME = "default"
NAMESPACES = {HOME: {"team": "none"}, "team-a": {"team": "a"}, "team-b": {"team": "b", "env": "prod"}}
"""With their labels."""
GPU = "example.com/gpu"


class Draw(random.Random):
    """A source of randomness with the choices that workloads are made of."""

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def some(self, choices: Sequence[T], least: int, most: int) -> list[T]:
        """Different ones, in any order."""
        return self.sample(choices, min(self.randint(least, most), len(choices)))

    def times(self, least: int, most: int) -> range:
        return range(self.randint(least, most))

    def labels(self) -> dict[str, str]:
        labels = {"app": self.choice(APPS)}
        if self.chance(0.6):
            labels["color"] = self.choice(COLORS)
        if self.chance(0.4):
            labels["revision"] = self.choice(REVISIONS)
        return labels

    def pod_selector(self, labels: Mapping[str, str]) -> Json:
        """A label selector that some pods match, and often a pod of these labels."""
        kind = self.random()
        if kind < 0.35:
            return selector(app=labels["app"])
        if kind < 0.6:
            return selector(app=self.choice(APPS))
        if kind < 0.75:
            return selector(color=self.choice(COLORS))
        if kind < 0.8:
            return {}
        operator = self.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        requirement: Json = {"key": self.choice(("app", "color", "revision")), "operator": operator}
        if operator in ("In", "NotIn"):
            requirement["values"] = self.some((*APPS, *COLORS, *REVISIONS), 1, 4)
        return {"matchExpressions": [requirement]}
