"""What keeps the documentation true: `make docs` and the tests of this folder.

README.md and all pages below `docs/` are read here. Links must lead somewhere, every page must be reachable from the
README, shell and Python blocks are executed, and parts that follow from the code are generated from it. How a page says
what is to be done with a block is told in `page`. Here do not belong: tests of the code itself, and the examples, which
have tests of their own.
"""
