"""kube-scheduler's flags: from a command line to `Options`.

Belongs here: the table of flags, their value types, checks, and the precedence of flags and configuration file.
Does not belong here: actions on the options.
May import: the rest of `config`, `framework`, `logs`, `errors`.
A new flag is one row of `table`, with the path of the option that it sets; the option is declared in `config.options`.
"""
