"""The command line: arguments are parsed here, and clock, randomness and files are handed to the rooms below.

Belongs here: one module for each command, its options, how its result is printed. Results go to standard output,
messages to standard error.
Does not belong here: any decision about pods or configuration; a command that grows logic took it from another room.
May import: every room. Nothing imports this one. `main` and `version` stay free of NumPy and YAML, so that help and
version answer at once; a command's module is imported when that command runs.
"""
