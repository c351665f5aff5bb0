"""The scheduling queue.

Belongs here: who waits, and for what; today the nominator alone, later the active, backoff and unschedulable queues.
Takes a clock where it needs one and reads none. Does not belong here: deciding where a pod goes. May import `framework`
and `api`.
"""
