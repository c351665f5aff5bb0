"""Code that optional plugins share.

Belongs here: computations that more than one optional plugin uses. May import: what `optional_plugins` may.
"""
