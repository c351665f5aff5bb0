"""What is wrong with bytes that came over the wire."""

from stowplan.errors import StowplanError


class WireError(StowplanError):
    """A body that cannot be read as what it should be. One line: what it is, where in it, what is wrong."""
