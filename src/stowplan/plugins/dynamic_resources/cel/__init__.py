"""Device selectors in CEL: the language as Kubernetes sets it up for devices, compiled to closures.

Belongs here: parsing, checking and evaluating expressions over one device, with Kubernetes' functions and the cost
limit. Does not belong here: claims, pools, who asks. May import `api`.

The engine is our own. What is on PyPI was measured against what devices need: none knows Kubernetes' functions or
counts costs, the pure Python one parses in milliseconds and pulls in a parser generator, and the compiled ones leave
out the static checks that decide whether a claim is in error. What remains to be written is most of the work anyway,
and verdicts are kept for each device, so the speed of one evaluation matters little.
"""

from stowplan.plugins.dynamic_resources.cel.device import Device
from stowplan.plugins.dynamic_resources.cel.selector import Selector, compile_selector

__all__ = ["Device", "Selector", "compile_selector"]
