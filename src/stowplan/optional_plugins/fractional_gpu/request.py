"""The GPUs that a pod requests."""

from __future__ import annotations

from typing import NamedTuple

from stowplan.config.args import FractionalGPUArgs
from stowplan.framework import PodTemplate

WHOLE_MILLI = 1000


class GpuRequest(NamedTuple):
    """A number of GPUs and the share of each, in the unit of the resource; no GPU: (0, 0)."""

    gpus: int
    share: int

    def kind(self, size: int) -> str:
        """Pods of one kind are clustered: shares of a GPU of that size, or the number of whole GPUs."""
        return "share" if self.gpus == 1 and self.share < size else str(self.gpus)


NO_GPU = GpuRequest(0, 0)
_MAX_DIGITS = 18


def whole_number(text: str) -> int:
    """The number in an annotation or label; 0 if it is none, or too large for a column."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0


def gpu_request(args: FractionalGPUArgs, template: PodTemplate) -> GpuRequest:
    """The pod's request: from its annotations, else from the extended resource.

    The resource counts a pod's GPUs together. In thousandths, up to 1000 is a share of one GPU, and more is the number
    of GPUs that this takes, in equal shares. Memory is always of one GPU.
    """
    annotations = template.annotations
    share = whole_number(annotations.get(args.resource, ""))
    if share:
        gpus = annotations.get(args.gpu_count, "1")
        each = min(share, WHOLE_MILLI) if args.is_milli else share
        return GpuRequest(whole_number(gpus) if gpus.isdecimal() else 1, each)
    total = template.requests.get(args.resource, 0)
    if total <= 0:
        return NO_GPU
    if not args.is_milli:
        return GpuRequest(1, total)
    count = -(-total // WHOLE_MILLI)
    return GpuRequest(count, -(-total // count))
