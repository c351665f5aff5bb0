"""Random objects that a real API server accepts, through decoding, cache, queue and decisions.

    $ python -m tests.fuzz --objects 100000 --seed 1

`mutations` changes valid objects at random. `batches` sends them to the API server as dry runs, which validate and
default an object without storing it, and drops the rejected ones. `trial` feeds the accepted ones to an engine and lets
it schedule. No object may raise an exception, and no decision may take more than 100 times the median. `expressions`
has device selectors that do much with few characters. Each is evaluated, within the limit of an evaluation.
"""
