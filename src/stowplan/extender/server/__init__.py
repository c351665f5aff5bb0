"""An extender as a server: HTTP in front of the handlers, and what its operators see of it.

Belongs here: the server with its paths, TLS and drain; health, metrics, decisions; the logging, recording and replaying
of requests; the configuration file; the process around all that; the adapter for servers of others (`asgi`).
Does not belong here: what is answered (`handlers`), the cache (`cache`), reservations (`holding`).
May import: everything in `extender`, and what it may.
"""
