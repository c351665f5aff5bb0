"""Requests of each instruction, and the meaning of their replies.

Belongs here: one module per kind of write: its requests, their retries, and the outcome for the engine.
Does not belong here: the transport (`cluster.write_client`), and events (`cluster.event_recorder`).
May import: `wire`, `protobuf`, `errors` and `write_client` of `cluster`; `framework`, `api`, `logs` and `errors`.
"""
