"""The extender server: HTTP in front of the handlers, its configuration, and its pages for operators.

Belongs here: the server with its paths, TLS and drain; health, metrics, decisions; logging, recording and replaying
requests; the configuration file; the process; the adapter for other servers (`asgi`).
Does not belong here: the verbs (`handlers`), the informer cache (`informer_cache`), reservations (`reservations`).
May import: everything in `extender`, and the rooms that `extender` may import.

Pages with a port of their own are served by `serving.InsecureServer`. The verbs have a small server of their own
(`http`, `connection`), an asyncio.BufferedProtocol that reads a body from the socket right into one buffer: a body of
30 MB takes 15 ms instead of 52 ms with aiohttp.
"""
