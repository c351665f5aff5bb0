"""ImageLocality: prefers nodes that have the pod's images, weighted by size and by the share of nodes that have them.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from stowplan import framework as fwk
from stowplan.api import amounts
from stowplan.cache.columns import Floats
from stowplan.plugins.base import InTreePlugin

NAME = "ImageLocality"
MEBIBYTE = 1024 * 1024
MIN_BYTES = 23 * MEBIBYTE
MAX_BYTES_PER_CONTAINER = 1000 * MEBIBYTE


def normalized_image_name(name: str) -> str:
    """The name with a tag. A colon before the last slash belongs to the port of a registry."""
    return name if name.rfind(":") > name.rfind("/") else name + ":latest"


class PodImages:
    """The images of a template, one entry for each container and, with `volumes`, each volume; and the size that earns
    the full score."""

    __slots__ = ("images", "max_bytes")

    def __init__(self, template: fwk.PodTemplate, *, volumes: bool) -> None:
        spec = template.spec
        containers = (*spec.init_containers, *spec.containers)
        references = [container.image for container in containers]
        if volumes:
            references += [volume.image.reference for volume in spec.volumes if volume.image is not None]
        self.images = tuple(normalized_image_name(reference) for reference in references)
        self.max_bytes = MAX_BYTES_PER_CONTAINER * len(containers)


class ImageLocality(InTreePlugin):
    """Scores 0 to 100 by the size of the images that are present."""

    name = NAME
    scope = "node"

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(template.spec.containers or template.spec.init_containers)

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        wanted = self._wanted(template)
        return (tuple(sorted(wanted.images)), wanted.max_bytes, self.nodes.images.version, self.nodes.membership)

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        wanted = self._wanted(pod.template)
        total = 0
        for name in wanted.images:
            image = self.nodes.images.get(name)
            if image is not None and node.slot in image:
                total += self._scaled(image.size, len(image))
        return _score(total, wanted.max_bytes)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        wanted = self._wanted(pod.template)
        found = [image for name in wanted.images if (image := self.nodes.images.get(name)) is not None]
        if not found:
            return fwk.no_scores(len(nodes))
        if len(found) == 1:
            (image,) = found
            one: fwk.Scores = np.zeros(self.nodes.high, dtype=np.int64)
            one[image.slot_array()] = _score(self._scaled(image.size, len(image)), wanted.max_bytes)
            return one[nodes.index]
        sizes = np.zeros(self.nodes.high)
        for image in found:
            sizes[image.slot_array()] += self._scaled(image.size, len(image))
        # Sums and products are exact in a float, and the quotient is at most 100.
        total: Floats = np.minimum(sizes[nodes.index], wanted.max_bytes)
        np.maximum(total, MIN_BYTES, out=total)
        total -= MIN_BYTES
        total *= 100.0
        total /= wanted.max_bytes - MIN_BYTES
        return total.astype(np.int64)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        names = list(dict.fromkeys(self._wanted(pod.template).images))
        images = [image for name in names if (image := self.nodes.images.get(name)) and node.slot in image]
        if not images:
            return "has none of its images" if len(names) > 1 else "does not have its image"
        size = amounts.bytes_in_words(sum(image.size for image in images))
        return f"has its image ({size})" if len(names) == 1 else f"has {len(images)} of {len(names)} images ({size})"

    def _wanted(self, template: fwk.PodTemplate) -> PodImages:
        return template.derive(ImageLocality, self._make_images)

    def _make_images(self, template: fwk.PodTemplate) -> PodImages:
        return PodImages(template, volumes=self.cluster.release.rules.image_volumes)

    def _scaled(self, size: int, nodes_with_image: int) -> int:
        """Scales the size by the share of nodes that have the image, so that few nodes do not attract every pod that
        needs it."""
        return int(size * (nodes_with_image / len(self.nodes)))


def _score(size: int, max_bytes: int) -> int:
    """0 to 100, linear in the size of the present images between the two thresholds."""
    return 100 * (min(max(size, MIN_BYTES), max_bytes) - MIN_BYTES) // (max_bytes - MIN_BYTES)
