"""What is held for a pod between filter and bind, and the binding itself.

Belongs here: reservations by pod uid, the writes of a bind (annotations, the Binding),
and the lease that makes one replica the holder.
Does not belong here: the verbs and their bytes (`handlers`), and who is asked when.
May import: `cluster`, `framework`, `config`, `observe`, `api` and `errors`. Plugins import `Reservations` and
`PodWriter` from here, whatever runs them.
"""

from stowplan.extender.holding.holding import Holding
from stowplan.extender.holding.lease import HoldingLease
from stowplan.extender.holding.pods import PodWriter
from stowplan.extender.holding.reservations import Reservation, Reservations

__all__ = ["Holding", "HoldingLease", "PodWriter", "Reservation", "Reservations"]
