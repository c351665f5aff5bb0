"""The command line: parses arguments and passes clock, randomness and files to the packages below.

Belongs here: one module per command with its options and its output. Results go to standard output, messages to
standard error.
Does not belong here: decisions about pods or configuration; such logic belongs in another package.
May import: every package. No package imports this one. `main` does not import NumPy or YAML, so that help and version
print at once; the module of a command is imported when the command runs.
"""
