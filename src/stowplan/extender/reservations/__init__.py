"""What is held for a pod between filter and bind, and the binding itself.

Belongs here: reservations by pod uid, the writes of a bind (annotations, the Binding),
and the lease that makes one replica the holder.
Does not belong here: the verbs and their bytes (`handlers`), and who is asked when.
May import: `cluster`, `framework`, `config`, `observe`, `api` and `errors`. Plugins import `Reservations` and
`PodWriter` from here, whatever runs them.
"""

from stowplan.extender.reservations.lease import HoldingLease
from stowplan.extender.reservations.pod_writer import PodWriter
from stowplan.extender.reservations.reservation_book import ReservationBook
from stowplan.extender.reservations.reservations import Reservation, Reservations

__all__ = ["HoldingLease", "PodWriter", "Reservation", "ReservationBook", "Reservations"]
