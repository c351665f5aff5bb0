"""Reservations of an extender's plugins for pods between filter and bind, and the binding itself.

Belongs here: all reservations of a server, writes to pods (annotations, the Binding, events), and the lease that elects
the replica which keeps reservations. Does not belong here: the verbs (`handlers`), and the class `Reservations` that
plugins use (`framework`). May import: `cluster`, `framework`, `config`, `observe`, `api` and `errors`. Plugins import
`Reservations` and `PodWriter` from here, in an extender and in a scheduler.
"""

from stowplan.extender.reservations.lease import ReservationLease
from stowplan.extender.reservations.pod_writer import PodWriter
from stowplan.extender.reservations.reservation_book import ReservationBook
from stowplan.framework.reservations import Reservation, Reservations

__all__ = ["PodWriter", "Reservation", "ReservationBook", "ReservationLease", "Reservations"]
