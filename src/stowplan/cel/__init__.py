"""Device selectors in CEL: the language as Kubernetes sets it up for devices, compiled to closures.

Belongs here: parsing, checking and evaluating expressions over one device, with Kubernetes' functions and the cost
limit. Does not belong here: claims, pools, who asks. May import `api`.

The engine is our own, for want of one that does what devices need: static types, since an expression that does not
check is the claim's error; Kubernetes' functions and the counting of costs, which none has; and wheels that are light.
Of those on PyPI, measured on a selector of two comparisons, cel-python evaluates in 500 us and checks no types,
common-expression-language does it in 1 us but checks none either, and cel-expr-python checks them at the price of
50 MB. Ours takes 9 us, which matters little: what a selector says of a device is asked once and kept.
"""

from stowplan.cel.device import DeviceValue
from stowplan.cel.selector import DeviceSelectorProgram, compile_selector

__all__ = ["DeviceSelectorProgram", "DeviceValue", "compile_selector"]
