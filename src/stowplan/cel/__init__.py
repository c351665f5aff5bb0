"""CEL: the language of device selectors, as Kubernetes sets it up for devices.

Belongs here: parsing, checking and evaluating an expression about one device, Kubernetes' function libraries, and the
limits of an evaluation. Does not belong here: claims, pools, and the choice of devices. May import: `api`, `errors`.

The stages have CEL's names: `lexer`, `parser` and `macros` make the tree of `syntax`; `checker` and `validators` find
its `types` and errors; `interpreter`, `aggregates` and `comprehensions` turn it into closures over `values`; `cost`
counts an evaluation. A `library` is a table of functions; there are seven. `selector` puts them together.

The engine is our own because no package has all that devices need: static types, since an expression that does not
check is the claim's error; Kubernetes' functions and cost limit; cel-go's error texts; and a small wheel. Measured on
a selector of two comparisons: cel-python takes 500 us and checks no types; common-expression-language takes 1 us and
checks no types; cel-expr-python checks types and installs 50 MB. Ours takes 9 us, and the result is kept per device.
Regular expressions are RE2's (google-re2).

Upstream: k8s.io/dynamic-resource-allocation/cel, k8s.io/apiserver/pkg/cel, github.com/google/cel-go
"""

from stowplan.cel.device import DeviceValue
from stowplan.cel.selector import DeviceSelectorProgram, compile_selector

__all__ = ["DeviceSelectorProgram", "DeviceValue", "compile_selector"]
