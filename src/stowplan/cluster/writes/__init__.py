"""What the API server is asked to do for each sort of instruction, and what its replies mean.

Belongs here: one module a sort of write: its requests, when they are repeated, and how the outcome reads to the engine.
Does not belong here: how requests get there (`stowplan.cluster.write_client`), and events, which nobody waits for.
May import: `stowplan.cluster`'s bodies, paths, errors and `lean`; `framework`, `api` and `errors`.
"""
