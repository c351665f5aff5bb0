"""Makers of generated parts: functions that return Markdown, each from one source of the truth in the code.

Here belongs what can be read off the code; sentences that only a person can write stand in the pages, or, where a table
mixes both, in `meanings.yaml`.
"""
