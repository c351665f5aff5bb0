"""What a server of ours needs before it can serve: a socket to listen on, a certificate, and whom to believe.

Belongs here: listening sockets, TLS contexts that follow their files, certificates made up where there are none.
Does not belong here: what is served, and to whom; the servers know that.
May import: `observe` and `errors`.
"""

from stowplan.serving.certificates import ServerTLS
from stowplan.serving.listening import listen
from stowplan.serving.options import ServingOptions

__all__ = ["ServerTLS", "ServingOptions", "listen"]
