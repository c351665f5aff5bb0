"""Errors of received messages."""

from stowplan.errors import StowplanError


class WireError(StowplanError):
    """A message that cannot be read. One line: the message, the place in it, the problem."""
