"""Kubernetes' API objects as the scheduler reads them.

Belongs here: structs with the API's names and only the fields that are read, exact quantities, compiled selectors,
toleration matching, the codec, validation of objects, and their reduction to the fields that are read
(`sanitization`). Does not belong here: scheduling rules, defaults that the API server applies, I/O, clocks. May import:
`errors`.

Structs, selectors and tolerations are exported here by the `__all__` of their modules. Quantities, the codec and
validation are used through their modules: `quantity.milli_value("250m")`, `codec.decode(Pod, data)`.

Upstream: k8s.io/api, k8s.io/apimachinery
"""

from stowplan.api.affinity import *
from stowplan.api.apps import *
from stowplan.api.batch import *
from stowplan.api.codec import DecodeError as DecodeError
from stowplan.api.core import *
from stowplan.api.coscheduling import *
from stowplan.api.device import *
from stowplan.api.elastic_quota import *
from stowplan.api.kinds import *
from stowplan.api.limits import *
from stowplan.api.meta import *
from stowplan.api.node import *
from stowplan.api.node_resource_topology import *
from stowplan.api.node_selectors import *
from stowplan.api.pod import *
from stowplan.api.pod_group import *
from stowplan.api.policy import *
from stowplan.api.quantity import QuantityError as QuantityError
from stowplan.api.resource import *
from stowplan.api.selectors import *
from stowplan.api.storage import *
from stowplan.api.tolerations import *
from stowplan.api.volumes import *
