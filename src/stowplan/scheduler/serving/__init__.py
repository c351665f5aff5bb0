"""What a scheduler serves over HTTPS, and to whom; and over plain HTTP, where an earlier configuration asks for it.

Belongs here: the server on its thread, the pages, finding out who visitors are and what they may do.
Does not belong here: what the pages tell of, which comes from `observe` and from the scheduler.
May import: `options`, and what `scheduler` may.
"""

from stowplan.scheduler.serving.pages import Pages, Sources
from stowplan.scheduler.serving.plain import PlainServer
from stowplan.scheduler.serving.server import Clients, SecureServer

__all__ = ["Clients", "Pages", "PlainServer", "SecureServer", "Sources"]
