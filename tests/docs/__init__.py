"""Tests of the documentation, run by `make docs`.

Belongs here: README.md and all pages below `docs/`. Links must resolve, every page must be reachable from the README,
shell and Python blocks are executed, and some parts are generated from the code. `page` documents the comments that
control the execution of a block.
Does not belong here: tests of the code, and the examples, which have their own tests.
"""
