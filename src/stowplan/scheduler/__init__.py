"""A scheduler on a real cluster: the engine with a loop around it.

Belongs here: the event loop that feeds the engine and carries out its instructions, calling users' methods where they
may block, what a scheduler serves over HTTPS, its flags, its signals, start and end. Does not belong here: deciding
(`runtime`), the loop's rules (`engine`), speaking to an API server (`cluster`), formats of logs and metrics
(`observe`). May import everything below.
"""
